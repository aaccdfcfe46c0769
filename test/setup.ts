import { makeCron, makeDatabase, makeOwner, withClient } from '../scripts/stack/roles.ts';
import { aloud, type Say } from '../scripts/stack/say.ts';
import { sweepTests } from '../scripts/stack/sweep.ts';
import { prepare, testCluster } from './cluster.ts';
import type { Stack } from './database.ts';

function publish(stack: Stack): void {
  process.env.TOCK_TEST_STACK = JSON.stringify(stack);
}

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

async function ownStack(say: Say): Promise<() => Promise<void>> {
  await sweepTests();
  const made = await testCluster('tock_cron', say);
  const { cluster, passwords } = made;
  await templates(cluster.url(), passwords.owner, passwords.edge, true);
  const pooler = await made.pool();
  publish({
    superUrl: cluster.url(),
    ownerPassword: passwords.owner,
    edgePassword: passwords.edge,
    poolHost: '127.0.0.1',
    poolPort: pooler.port,
    cron: true,
    postmasterPid: cluster.pid,
    dataDir: cluster.data,
  });
  return made.close;
}

/** Somebody else's cluster: its roles tock and tock_edge get the passwords of the tests. */
async function givenStack(superUrl: string): Promise<() => Promise<void>> {
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
  publish({ superUrl, ownerPassword: password, edgePassword: password, cron });
  return async () => {};
}

let close = async () => {};

/** vitest's globalSetup: one cluster for the run, a migrated template in it, gone at the end. */
export async function setup(): Promise<void> {
  const given = process.env.TOCK_TEST_DATABASE_URL;
  const name = given ? 'Preparing TOCK_TEST_DATABASE_URL' : 'Starting a test cluster';
  close = await aloud.step(name, () => (given ? givenStack(given) : ownStack(aloud)));
}

export function teardown(): Promise<void> {
  return close();
}
