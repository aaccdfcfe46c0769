import type { Bindings } from '../env.ts';
import { misconfigured } from './errors.ts';
import { connectHyperdrive } from './hyperdrive.ts';
import { connectNeonHttp, MAX_STATEMENTS } from './neon_http.ts';
import { connectNeonWs } from './neon_ws.ts';
import { connectPg } from './pg.ts';
import type { Connect } from './types.ts';

const drivers = new Map<string, Connect>([
  ['pg', connectPg],
  ['neon-http', connectNeonHttp],
  ['neon-ws', connectNeonWs],
]);

function isNeon(url: string): boolean {
  return URL.canParse(url) && new URL(url).hostname.endsWith('.neon.tech');
}

/** The driver that the bindings choose; throws for an unknown name. */
export function chooseDriver(env: Bindings): Connect {
  if (env.HYPERDRIVE) return connectHyperdrive;
  if (!env.DATABASE_URL) {
    throw misconfigured(
      'DATABASE_URL is not set.',
      'set it with: wrangler secret put DATABASE_URL; or bind HYPERDRIVE',
    );
  }
  const driver = drivers.get(driverOf(env));
  if (driver) return driver;
  // The message omits the value: it may be a misplaced secret.
  throw misconfigured(
    'TOCK_DRIVER is not the name of a driver.',
    `set TOCK_DRIVER to one of ${[...drivers.keys()].join(', ')}, or leave it out`,
  );
}

const driverOf = ({ TOCK_DRIVER, DATABASE_URL = '' }: Bindings) =>
  TOCK_DRIVER || (isNeon(DATABASE_URL) ? 'neon-http' : 'pg');

/** The maximum number of statements of a request, if the driver has a limit. */
export const statementLimit = (env: Bindings) =>
  !env.HYPERDRIVE && driverOf(env) === 'neon-http' ? MAX_STATEMENTS : undefined;

/** Bindings for answers of any size: over HTTPS, Neon limits an answer to 10 MiB. Node has WebSocket since 22. */
export function unlimitedAnswers(env: Bindings): Bindings {
  const usesHttps = !env.HYPERDRIVE && driverOf(env) === 'neon-http';
  return usesHttps && 'WebSocket' in globalThis ? { ...env, TOCK_DRIVER: 'neon-ws' } : env;
}

/** Connects with the driver that the bindings choose. */
export const connect: Connect = async (env, use) => chooseDriver(env)(env, use);

/** Bindings for calls on leases. If they have a pool of their own, a flood of enqueues cannot block them. */
export function forLeaseCalls(env: Bindings): Bindings {
  const { DATABASE_URL_ENDS, HYPERDRIVE_ENDS, HYPERDRIVE, ...others } = env;
  if (HYPERDRIVE_ENDS) return { ...env, HYPERDRIVE: HYPERDRIVE_ENDS };
  return DATABASE_URL_ENDS ? { ...others, DATABASE_URL: DATABASE_URL_ENDS } : env;
}
