import { Client } from '@neondatabase/serverless';
import { NEON_CONNECT_MS, QUERY_MS } from '../timeouts.ts';
import { neonOf } from './neon.ts';
import { session } from './session.ts';
import type { Connect } from './types.ts';

/** One WebSocket per request: a few more round trips than HTTPS, but no size limit. */
export const connectNeonWs: Connect = async (env, use) => {
  const { url, proxy } = neonOf(env);
  return session(() => {
    const client = new Client({
      connectionString: url,
      connectionTimeoutMillis: NEON_CONNECT_MS,
      query_timeout: QUERY_MS,
    });
    if (proxy) {
      client.neonConfig.wsProxy = () => `${proxy.host}/v2`;
      client.neonConfig.useSecureWebSocket = proxy.protocol === 'https:';
    }
    return client;
  }, use);
};
