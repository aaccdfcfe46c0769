import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { startAgain } from './again.ts';
import { cluster } from './cluster.ts';
import { described } from './described.ts';
import { secrets } from './files.ts';
import type { Host } from './host.ts';
import { home } from './place.ts';
import { poolOfEnds, startPooler } from './pooler.ts';
import { freePort, isFree } from './ports.ts';
import { makeCron, makeDatabase, makeOwner } from './roles.ts';
import { record } from './running.ts';
import type { Say } from './say.ts';
import type { Scope } from './scope.ts';
import { openHost } from './source.ts';

/** What the rest of the stack needs of a database. */
export type DatabaseUrls = {
  owner: string;
  pooled: string;
  /** The same, by the pool for what ends work; null where that is not known. */
  ends: string | null;
  edgePassword: string | null;
};

const name = 'tock';

function forget(): void {
  for (const file of ['secrets.json', 'dev.env', 'worker']) {
    rmSync(join(home(), file), { recursive: true, force: true });
  }
}

/** Starts on a port; when somebody took it since it was chosen, on the next. A container's are fixed. */
async function onPort<T>(
  what: 'PostgreSQL' | 'PgBouncer',
  first: number,
  { local }: Host,
  say: Say,
  start: (port: number) => Promise<T>,
): Promise<T> {
  let port = first;
  for (let tries = 1; ; tries++) {
    try {
      return await start(port);
    } catch (error) {
      if (!local || tries === 5 || (await isFree(port))) throw error;
      port = await freePort(what, say.note);
    }
  }
}

/** A cluster with pg_cron and a PgBouncer of this checkout, on this machine or in Docker. */
export async function localDatabase(
  say: Say,
  { signal, onStop, needs }: Scope,
  reset: boolean,
): Promise<DatabaseUrls> {
  const port = await freePort('PostgreSQL', say.note);
  const poolPort = await freePort('PgBouncer', say.note);
  const ports = [port, poolPort];
  const host = await say.step('Finding PostgreSQL with pg_cron', () =>
    openHost({ name: 'postgres', ports, say, signal, kept: true }),
  );
  if (host.close) onStop('the container', host.close);
  if (reset) {
    await say.step('Forgetting all data (--reset)', async () => {
      await host.clear(`${host.folder}/data`);
      await host.remove(`${host.folder}/data`);
      forget();
    });
  }
  const words = secrets();
  const log = `${host.folder}/postgres.log`;
  const database = await say.step(`Starting PostgreSQL on 127.0.0.1:${port}`, () =>
    onPort('PostgreSQL', port, host, say, async (free) => {
      const options = { port: free, password: words.superuser, cronDatabase: name, log };
      const made = cluster(host, options);
      let kept: Promise<void> | null = null;
      onStop('PostgreSQL', async () => {
        await kept;
        await made.stop();
        // One that was started by hand, in the place of ours.
        await host.clear(made.data);
      });
      await made.start();
      if (host.local) record('PostgreSQL', made.pid);
      kept = startAgain(made, say, log, signal);
      return made;
    }),
  );
  await say.step('Making the role, the database and pg_cron', async () => {
    await makeOwner(database.url(), words.owner);
    await makeDatabase(database.url(), name);
    await makeCron(database.url(name));
  });
  say.note(`This is ${await described(host, database.url(name))}.`);
  const pooler = await say.step(`Starting PgBouncer on 127.0.0.1:${poolPort}`, () =>
    onPort('PgBouncer', poolPort, host, say, async (free) => {
      const users = { tock: words.owner, tock_edge: words.edge };
      const poolLog = `${host.folder}/pgbouncer.log`;
      const place = { port: free, postgresPort: database.port, log: poolLog };
      const made = await startPooler(host, { ...place, users, ends: name });
      onStop('PgBouncer', made.stop);
      if (host.local) record('PgBouncer', made.pid);
      needs('PgBouncer', made.ended, poolLog);
      return made;
    }),
  );
  const pooled = `postgres://tock_edge:${words.edge}@127.0.0.1:${pooler.port}`;
  return {
    owner: `postgres://tock:${words.owner}@127.0.0.1:${database.port}/${name}`,
    pooled: `${pooled}/${name}`,
    ends: `${pooled}/${poolOfEnds(name)}`,
    edgePassword: words.edge,
  };
}
