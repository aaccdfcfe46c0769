import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { cluster } from './cluster.ts';
import { describeServer } from './describe_server.ts';
import { secrets } from './files.ts';
import type { Host } from './host.ts';
import { openHost } from './open_host.ts';
import { home } from './paths.ts';
import { endsPoolName, startPooler } from './pooler.ts';
import { freePort, isFree } from './ports.ts';
import { restartOnRequest } from './restart.ts';
import { makeCron, makeDatabase, makeOwner } from './roles.ts';
import { record } from './running.ts';
import type { Scope } from './scope.ts';
import type { StepReporter } from './step_reporter.ts';

/** What the rest of the stack needs from a database. */
export type DatabaseUrls = {
  owner: string;
  pooled: string;
  /** The URL of the pool for calls that end work; null if it is not known. */
  ends: string | null;
  edgePassword: string | null;
};

const name = 'tock';

function forget(): void {
  for (const file of ['secrets.json', 'dev.env', 'worker']) {
    rmSync(join(home(), file), { recursive: true, force: true });
  }
}

/** Starts on a port, or on the next one if another process has taken it meanwhile. A container's ports are fixed. */
async function onPort<T>(
  program: 'PostgreSQL' | 'PgBouncer',
  first: number,
  { local }: Host,
  reporter: StepReporter,
  start: (port: number) => Promise<T>,
): Promise<T> {
  let port = first;
  for (let tries = 1; ; tries++) {
    try {
      return await start(port);
    } catch (error) {
      if (!local || tries === 5 || (await isFree(port))) throw error;
      port = await freePort(program, reporter.note);
    }
  }
}

/** Starts this checkout's cluster with pg_cron, and a PgBouncer, on this machine or in Docker. */
export async function localDatabase(
  reporter: StepReporter,
  { signal, onStop, needs }: Scope,
  reset: boolean,
): Promise<DatabaseUrls> {
  const port = await freePort('PostgreSQL', reporter.note);
  const poolPort = await freePort('PgBouncer', reporter.note);
  const ports = [port, poolPort];
  const host = await reporter.step('Finding PostgreSQL with pg_cron', () =>
    openHost({ name: 'postgres', ports, reporter, signal, kept: true }),
  );
  if (host.close) onStop('the container', host.close);
  if (reset) {
    await reporter.step('Deleting all data (--reset)', async () => {
      await host.clear(`${host.folder}/data`);
      await host.remove(`${host.folder}/data`);
      forget();
    });
  }
  const words = secrets();
  const log = `${host.folder}/postgres.log`;
  const database = await reporter.step(`Starting PostgreSQL on 127.0.0.1:${port}`, () =>
    onPort('PostgreSQL', port, host, reporter, async (free) => {
      const options = { port: free, password: words.superuser, cronDatabase: name, log };
      const createdCluster = cluster(host, options);
      let running: Promise<void> | null = null;
      onStop('PostgreSQL', async () => {
        await running;
        await createdCluster.stop();
        // A user may have started a PostgreSQL in the folder by hand, after this one ended. It is stopped too.
        await host.clear(createdCluster.data);
      });
      await createdCluster.start();
      if (host.local) record('PostgreSQL', createdCluster.pid);
      running = restartOnRequest(createdCluster, reporter, log, signal);
      return createdCluster;
    }),
  );
  await reporter.step('Creating the role, the database and pg_cron', async () => {
    await makeOwner(database.url(), words.owner);
    await makeDatabase(database.url(), name);
    await makeCron(database.url(name));
  });
  reporter.note(`This is ${await describeServer(host, database.url(name))}.`);
  const pooler = await reporter.step(`Starting PgBouncer on 127.0.0.1:${poolPort}`, () =>
    onPort('PgBouncer', poolPort, host, reporter, async (free) => {
      const users = { tock: words.owner, tock_edge: words.edge };
      const poolLog = `${host.folder}/pgbouncer.log`;
      const place = { port: free, postgresPort: database.port, log: poolLog };
      const pooler = await startPooler(host, { ...place, users, ends: name });
      onStop('PgBouncer', pooler.stop);
      if (host.local) record('PgBouncer', pooler.pid);
      needs('PgBouncer', pooler.ended, poolLog);
      return pooler;
    }),
  );
  const pooled = `postgres://tock_edge:${words.edge}@127.0.0.1:${pooler.port}`;
  return {
    owner: `postgres://tock:${words.owner}@127.0.0.1:${database.port}/${name}`,
    pooled: `${pooled}/${name}`,
    ends: `${pooled}/${endsPoolName(name)}`,
    edgePassword: words.edge,
  };
}
