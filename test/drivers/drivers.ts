import type pg from 'pg';
import { afterAll, beforeAll } from 'vitest';
import type { Bindings } from '../../functions/env.ts';
import { type Database, freshDatabase } from '../database.ts';
import { addressOf, type NeonProxy, startNeonProxy } from './neon_proxy.ts';

export type DriverName = 'pg' | 'pooled' | 'hyperdrive' | 'neon-http' | 'neon-ws';

/** A database for a test file, with the bindings of every driver. */
export type DriverDatabase = {
  database: Database;
  owner: pg.Client;
  key: string;
  bridge: NeonProxy;
  env(way: DriverName): Bindings;
  /** The bindings of a driver whose PostgreSQL cannot be reached. */
  lost(way: DriverName): Bindings;
  drop(): Promise<void>;
};

type Urls = { direct: string; pooled: string; neon: string; proxy: string };

export const driverNames: DriverName[] = ['pg', 'pooled', 'hyperdrive', 'neon-http', 'neon-ws'];

export function bindings(way: DriverName, { direct, pooled, neon, proxy }: Urls): Bindings {
  switch (way) {
    case 'pg':
      return { DATABASE_URL: direct };
    case 'pooled':
      return { DATABASE_URL: pooled };
    case 'hyperdrive':
      return { HYPERDRIVE: { connectionString: pooled } };
    case 'neon-http':
      return { DATABASE_URL: neon, TOCK_NEON_PROXY: proxy };
    case 'neon-ws':
      return { DATABASE_URL: neon, TOCK_NEON_PROXY: proxy, TOCK_DRIVER: 'neon-ws' };
  }
}

function changed(url: string, change: Partial<URL>): string {
  return Object.assign(new URL(url), change).href;
}

/** The same database with a host name of Neon, which the proxy ignores. */
export function neonUrl(direct: string): string {
  return changed(direct, { host: 'ep-tock-1.local.neon.tech', port: '' });
}

export async function startDriverDatabase(): Promise<DriverDatabase> {
  const database = await freshDatabase();
  const { edgeUrl: direct, poolUrl: pooled = direct } = database;
  const owner = await database.connect();
  const { rows } = await owner.query(
    'select key from tock.create_key(p_name => $1, p_scopes => $2)',
    ['ways', ['enqueue', 'claim', 'read', 'admin']],
  );
  const bridge = await startNeonProxy(addressOf(direct), addressOf(pooled));
  const nowhere = { host: '127.0.0.1', port: 1 };
  const astray = await startNeonProxy(nowhere, nowhere);
  const neon = neonUrl(direct);
  const gone = { port: '1' };
  return {
    database,
    owner,
    key: rows[0].key,
    bridge,
    env: (way) => bindings(way, { direct, pooled, neon, proxy: bridge.origin }),
    lost: (way) =>
      bindings(way, {
        direct: changed(direct, gone),
        pooled: changed(pooled, gone),
        neon,
        proxy: astray.origin,
      }),
    async drop() {
      await Promise.all([bridge.stop(), astray.stop()]);
      await database.drop();
    },
  };
}

/** The database of the test file. */
export let made: DriverDatabase;

export function useDriverDatabase(): void {
  beforeAll(async () => {
    made = await startDriverDatabase();
  });
  afterAll(() => made.drop());
}
