import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { cluster } from './cluster.ts';
import { secrets } from './files.ts';
import { home } from './place.ts';
import { startPooler } from './pooler.ts';
import { freePort } from './ports.ts';
import { makeCron, makeDatabase, makeOwner } from './roles.ts';
import { record } from './running.ts';
import type { Say } from './say.ts';
import type { Scope } from './scope.ts';
import { openHost } from './source.ts';

/** What the rest of the stack needs of a database. */
export type DatabaseUrls = { owner: string; pooled: string; edgePassword: string | null };

const name = 'tock';

function forget(): void {
  for (const file of ['secrets.json', 'dev.env', 'worker']) {
    rmSync(join(home(), file), { recursive: true, force: true });
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
  say.note(host.name);
  if (reset) {
    await say.step('Forgetting all data (--reset)', async () => {
      await host.clear(`${host.folder}/data`);
      await host.remove(`${host.folder}/data`);
      forget();
    });
  }
  const words = secrets();
  const log = `${host.folder}/postgres.log`;
  const options = { port, password: words.superuser, cronDatabase: name, log };
  const database = cluster(host, options);
  onStop('PostgreSQL', database.stop);
  await say.step(`Starting PostgreSQL on 127.0.0.1:${port}`, async () => {
    await database.start();
    if (host.local) record('PostgreSQL', database.pid);
    needs('PostgreSQL', database.ended, log);
  });
  await say.step('Making the role, the database and pg_cron', async () => {
    await makeOwner(database.url(), words.owner);
    await makeDatabase(database.url(), name);
    await makeCron(database.url(name));
  });
  await say.step(`Starting PgBouncer on 127.0.0.1:${poolPort}`, async () => {
    const users = { tock: words.owner, tock_edge: words.edge };
    const poolLog = `${host.folder}/pgbouncer.log`;
    const settings = { port: poolPort, postgresPort: port, users, log: poolLog };
    const pooler = await startPooler(host, settings);
    onStop('PgBouncer', pooler.stop);
    if (host.local) record('PgBouncer', pooler.pid);
    needs('PgBouncer', pooler.ended, poolLog);
  });
  return {
    owner: `postgres://tock:${words.owner}@127.0.0.1:${port}/${name}`,
    pooled: `postgres://tock_edge:${words.edge}@127.0.0.1:${poolPort}/${name}`,
    edgePassword: words.edge,
  };
}
