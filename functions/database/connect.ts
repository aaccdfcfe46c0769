import type { Bindings } from '../env.ts';
import { misconfigured } from './errors.ts';
import { connectHyperdrive } from './hyperdrive.ts';
import { connectNeonHttp } from './neon_http.ts';
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

/** The driver that the bindings ask for; throws when there is none of that name. */
export function chooseDriver(env: Bindings): Connect {
  if (env.HYPERDRIVE) return connectHyperdrive;
  if (!env.DATABASE_URL) {
    throw misconfigured(
      'The Worker has no DATABASE_URL.',
      'set it with: wrangler secret put DATABASE_URL; or bind HYPERDRIVE',
    );
  }
  const driver = drivers.get(driverOf(env));
  if (driver) return driver;
  // Not what it is: somebody may have put a secret there.
  throw misconfigured(
    'The Worker knows no driver of the name in TOCK_DRIVER.',
    `set TOCK_DRIVER to one of ${[...drivers.keys()].join(', ')}, or leave it out`,
  );
}

const driverOf = ({ TOCK_DRIVER, DATABASE_URL = '' }: Bindings) =>
  TOCK_DRIVER || (isNeon(DATABASE_URL) ? 'neon-http' : 'pg');

/** To the same database, for answers of any size: over HTTPS Neon gives 10 MiB. (Node has WebSocket from 22 on.) */
export function roomy(env: Bindings): Bindings {
  const isByHttps = !env.HYPERDRIVE && driverOf(env) === 'neon-http';
  return isByHttps && 'WebSocket' in globalThis ? { ...env, TOCK_DRIVER: 'neon-ws' } : env;
}

/** By the driver that the bindings ask for. */
export const connect: Connect = async (env, use) => chooseDriver(env)(env, use);

/** The way of calls that end work: a pool of their own, where one is given, which no enqueue can fill. */
export function forEnds(env: Bindings): Bindings {
  const { DATABASE_URL_ENDS, HYPERDRIVE_ENDS, HYPERDRIVE, ...others } = env;
  if (HYPERDRIVE_ENDS) return { ...env, HYPERDRIVE: HYPERDRIVE_ENDS };
  return DATABASE_URL_ENDS ? { ...others, DATABASE_URL: DATABASE_URL_ENDS } : env;
}
