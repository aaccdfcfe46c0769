import type { Bucket } from './archive/store.ts';
import { connectHyperdrive } from './ways/hyperdrive.ts';
import { misconfigured } from './ways/misconfigured.ts';
import { connectNeonHttp } from './ways/neon_http.ts';
import { connectNeonWs } from './ways/neon_ws.ts';
import { connectPg } from './ways/pg.ts';

/** One statement in, rows out. Throws an error whose `code` is a SQLSTATE. */
export type Query = (text: string, values?: unknown[]) => Promise<Record<string, unknown>[]>;

export type Bindings = {
  /** postgres://… of a transaction pooler or of Neon, as the role tock_edge; a secret. */
  DATABASE_URL?: string;
  /** pg, neon-http or neon-ws; by default neon-http for a host in neon.tech, pg for any other. */
  TOCK_DRIVER?: string;
  /** https://host[:port] of a proxy that speaks Neon's protocols, for a Neon of one's own. */
  TOCK_NEON_PROXY?: string;
  /** Origins whose pages may call from a browser, by commas; none without it. */
  TOCK_ORIGINS?: string;
  /** Comes before all of them. */
  HYPERDRIVE?: { connectionString: string };
  /** As DATABASE_URL and HYPERDRIVE, for the calls on leases: another pool, which a flood of enqueues can't fill. */
  DATABASE_URL_ENDS?: string;
  HYPERDRIVE_ENDS?: { connectionString: string };
  /** How many enqueues, claims and other calls an isolate has under way, of each; 300 by default. */
  TOCK_MOST_AT_ONCE?: string;
  /** What the secrets of queues with push are made of; several, newest first, by spaces. Without it nothing is pushed. */
  TOCK_PUSH_SECRET?: string;
  /** allow: push to http:// and to private addresses too, for work on one's own machine. */
  TOCK_PUSH_PRIVATE?: string;
  /** Which traces tasks keep of the requests that enqueue them: sampled, unless it is all or off. */
  TOCK_TRACE?: string;
  /** The Durable Object that holds when something is next due; see alarm.ts. */
  ALARM?: AlarmNamespace;
  /** The R2 bucket of the archive. */
  ARCHIVE?: Bucket;
  /** `manual`: only where it is turned on by hand. */
  TOCK_ARCHIVE?: string;
  /** Where the archive lies in a store that speaks S3: https://host/bucket[/folder]; with its key, and its region (auto). */
  TOCK_ARCHIVE_URL?: string;
  TOCK_ARCHIVE_KEY_ID?: string;
  TOCK_ARCHIVE_SECRET?: string;
  TOCK_ARCHIVE_REGION?: string;
};

/** What of a Durable Object's namespace is needed. */
export type AlarmNamespace = {
  idFromName(name: string): unknown;
  get(id: never): { fetch(url: string, init?: RequestInit): Promise<Response> };
};

/** `most` is how many statements a request may send, where its way has a limit. */
export type Use<T> = (query: Query, most?: number) => Promise<T>;

/**
 * Opens a way to the database for the time of `use`: the only door there is. Nothing is tried twice
 * here, as nobody knows whether a lost statement was done: the caller repeats, with its request id.
 */
export type Connect = <T>(env: Bindings, use: Use<T>) => Promise<T>;

const drivers = new Map<string, Connect>([
  ['pg', connectPg],
  ['neon-http', connectNeonHttp],
  ['neon-ws', connectNeonWs],
]);

function isNeon(url: string): boolean {
  return URL.canParse(url) && new URL(url).hostname.endsWith('.neon.tech');
}

/** The way that the bindings ask for; throws when they ask for none there is. */
export function chooseWay(env: Bindings): Connect {
  if (env.HYPERDRIVE) return connectHyperdrive;
  if (!env.DATABASE_URL) {
    throw misconfigured(
      'The Worker has no DATABASE_URL.',
      'set it with: wrangler secret put DATABASE_URL; or bind HYPERDRIVE',
    );
  }
  const way = drivers.get(driverOf(env));
  if (way) return way;
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

/** By the way that the bindings ask for. */
export const connect: Connect = async (env, use) => chooseWay(env)(env, use);
