import { buildModules } from '../scripts/modules/build.ts';
import { askVersions, describeServer } from '../scripts/stack/describe_server.ts';
import { makeCron, makeDatabase, makeOwner, withClient } from '../scripts/stack/roles.ts';
import { aloud, type StepReporter } from '../scripts/stack/step_reporter.ts';
import { sweepTests } from '../scripts/stack/sweep.ts';
import { prepare, testCluster } from '../scripts/stack/test_cluster.ts';
import type { Stack } from './database.ts';

let close = async () => {};

function as(url: string, role: string, password: string, database: string): string {
  const parsed = new URL(url);
  parsed.username = role;
  parsed.password = password;
  parsed.pathname = `/${database}`;
  return parsed.href;
}

async function templates(superUrl: string, owner: string, edge: string, cron: boolean) {
  const names = cron ? ['tock_template', 'tock_cron'] : ['tock_template'];
  for (const name of names) {
    await makeDatabase(superUrl, name);
    await prepare(as(superUrl, 'tock', owner, name), edge);
  }
}

async function ownStack(say: StepReporter): Promise<Stack> {
  await sweepTests();
  const made = await testCluster('tock_cron', say);
  const { cluster, passwords } = made;
  const { cron, major, pgbouncer } = cluster.host;
  // close() is set now, because the cluster must be removed even if the next step fails.
  close = made.close;
  await templates(cluster.url(), passwords.owner, passwords.edge, cron);
  const pooler = pgbouncer ? await made.pool() : null;
  return {
    major,
    name: await describeServer(cluster.host, cluster.url()),
    superUrl: cluster.url(),
    ownerPassword: passwords.owner,
    edgePassword: passwords.edge,
    ...(pooler && { poolHost: '127.0.0.1', poolPort: pooler.port }),
    cron,
    postmasterPid: cluster.pid,
    dataDir: cluster.data,
  };
}

/** Prepares the cluster of TOCK_TEST_DATABASE_URL. Its roles tock and tock_edge get the passwords of the tests. */
async function givenStack(superUrl: string): Promise<Stack> {
  const password = 'tock-test';
  await makeOwner(superUrl, password);
  const cron = await withClient(superUrl, async (client) => {
    await client.query('drop database if exists tock_template with (force)');
    const { rows } = await client.query(
      "select current_setting('cron.database_name', true) as name",
    );
    return rows[0]?.name === 'tock_cron';
  });
  if (cron) {
    await makeDatabase(superUrl, 'tock_cron');
    await makeCron(
      as(superUrl, new URL(superUrl).username, new URL(superUrl).password, 'tock_cron'),
    );
  }
  await templates(superUrl, password, password, cron);
  const { postgres } = await askVersions(superUrl);
  const name = await describeServer({ origin: 'of TOCK_TEST_DATABASE_URL' }, superUrl);
  const passwords = { ownerPassword: password, edgePassword: password };
  return { major: Number.parseInt(postgres, 10), name, superUrl, ...passwords, cron };
}

/** vitest's globalSetup: starts one cluster for the run, with a migrated template. It is removed at the end. */
export async function setup(): Promise<void> {
  const url = process.env.TOCK_TEST_DATABASE_URL;
  const name = url ? 'Preparing TOCK_TEST_DATABASE_URL' : 'Starting a test cluster';
  try {
    await buildModules();
    const stack = await aloud.step(name, () => (url ? givenStack(url) : ownStack(aloud)));
    process.env.TOCK_TEST_STACK = JSON.stringify(stack);
    aloud.note(`The tests run on ${stack.name}.`);
  } catch (error) {
    await close();
    throw error;
  }
}

export function teardown(): Promise<void> {
  return close();
}
