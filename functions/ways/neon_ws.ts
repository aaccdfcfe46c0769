import { Client } from '@neondatabase/serverless';
import type { Connect } from '../query.ts';
import { neonOf } from './neon.ts';
import { QUERY_MS, session } from './session.ts';

// As long as Neon's proxy waits for a database that wakes.
const CONNECT_MS = 15_000;

/** Over a WebSocket of the request's own: a few round trips more than HTTPS, but no 10 MiB. */
export const connectNeonWs: Connect = async (env, use) => {
  const { url, proxy } = neonOf(env);
  return session(() => {
    const client = new Client({
      connectionString: url,
      connectionTimeoutMillis: CONNECT_MS,
      query_timeout: QUERY_MS,
    });
    if (proxy) {
      client.neonConfig.wsProxy = () => `${proxy.host}/v2`;
      client.neonConfig.useSecureWebSocket = proxy.protocol === 'https:';
    }
    return client;
  }, use);
};
