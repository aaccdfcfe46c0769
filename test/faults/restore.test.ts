import type pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { makeDatabase } from '../../scripts/stack/roles.ts';
import { prepare } from '../../scripts/stack/test_cluster.ts';
import { expectInvariants } from '../sql/invariants.ts';
import { enqueue, numberedTasks, rows, value, waitUntil } from '../sql/verbs.ts';
import { completeMore, expectGoesOn, guardFindings } from './aftermath.ts';
import { type ClusterMember, type Clusters, makeClusters } from './clusters.ts';
import { copyLedger, type Ledger, newestStored, openLedger } from './ledger.ts';
import { startLoad } from './load.ts';

let all: Clusters;
let source: ClusterMember;
let target: ClusterMember;
const ledger = openLedger();

beforeAll(async () => {
  all = await makeClusters(2);
  [source, target] = await Promise.all([all.make({ wal_level: 'logical' }), all.make({}, true)]);
  const client = await source.connect();
  await client.query(`select tock.put_queue('load', '{"max_attempts": 1000, "max_lost": 1000}')`);
});

afterAll(() => all?.close());

/** Dumps the source under load. Returns what it had acknowledged before the dump. */
async function dumped(file: string, options: string[] = []): Promise<Ledger> {
  const load = startLoad(ledger, () => source.connect());
  await completeMore(ledger, 100);
  const kept = copyLedger(ledger);
  const to = ['--format=custom', `--file=${file}`, ...options];
  await all.host.run([`${all.host.bin}/pg_dump`, ...to, source.superUrl()]);
  await completeMore(ledger, 50);
  await load.stop();
  return kept;
}

async function restored(file: string, url: string, options: string[] = []): Promise<void> {
  const to = ['--exit-on-error', `--dbname=${url}`, ...options];
  await all.host.run([`${all.host.bin}/pg_restore`, ...to, file]);
}

/** A database with Tock's schema and without its rows. */
async function emptied(database: string): Promise<pg.Client> {
  if (await makeDatabase(target.superUrl('postgres'), database)) {
    await prepare(target.url(database), 'unused');
  }
  const admin = await target.connect(target.superUrl(database));
  const tables = await rows<{ name: string }>(
    admin,
    "select tablename as name from pg_tables where schemaname = 'tock'",
  );
  await admin.query(`truncate ${tables.map(({ name }) => `tock.${name}`).join()}`);
  return admin;
}

/**
 * Expects a first call with a sequence that is behind to be refused or to follow a jump, and the tick to repair
 * the sequence. Returns the newest position before.
 */
async function expectMended(database: string): Promise<number> {
  const client = await target.connect(target.url(database));
  const stored = await newestStored(client);
  const findings = await rows<{ finding: string; hint: string }>(
    client,
    'select * from tock.doctor()',
  );
  expect(findings.map(({ finding }) => finding).join()).toMatch(/sequence/);
  const first = await enqueue(client, 'load', numberedTasks(1)).catch((error) => error);
  if (!Array.isArray(first)) expect(first).toMatchObject({ code: 'TK503' });
  await expectInvariants(client);
  await client.query("select tock.run_maintenance('guard')");
  expect(await guardFindings(client)).toContain('behind');
  return stored;
}

test('a dump taken under load and restored into another cluster continues above all ids that were given out', async () => {
  // A dump has no roles. The owner creates them, because from PostgreSQL 16 on a role may alter only those that
  // it made.
  const owner = await target.connect();
  const client = await source.connect();
  const roles = await rows<{ name: string }>(
    client,
    "select rolname as name from pg_roles where rolname like 'tock\\_%'",
  );
  for (const { name } of roles) await owner.query(`create role ${name}`);
  const file = `${all.host.folder}/whole.dump`;
  const kept = await dumped(file);
  await restored(file, target.superUrl());
  await expectGoesOn(() => target.connect(), copyLedger(ledger), { ...kept, held: new Map() });
});

test('a restore beside which maintenance jobs run continues above all ids that were given out', async () => {
  const { host } = all;
  const file = `${host.folder}/busy.dump`;
  const kept = await dumped(file, ['--schema=tock']);
  await makeDatabase(target.superUrl('postgres'), 'busy');
  const url = target.superUrl('busy');
  const admin = await target.connect(url);
  const entries = (await host.run([`${host.bin}/pg_restore`, '--list', file])).split('\n');
  const part = async (lines: string[]) => {
    const list = `${host.folder}/busy.list`;
    await host.write(list, lines.join('\n'));
    await restored(file, url, [`--use-list=${list}`]);
  };
  const setsSequence = (line: string) => line.includes(' SEQUENCE SET ');
  await part(entries.filter((line) => !setsSequence(line)));
  for (const line of entries.filter(setsSequence)) {
    await part([line]);
    // It fails if a sequence behind a table's keys is not restored yet. setval() is not rolled back.
    await admin.query('select tock.guard()').catch(() => {});
  }
  const connect = () => target.connect(target.url('busy'));
  await expectGoesOn(connect, copyLedger(ledger), { ...kept, held: new Map() });
});

test('a dump restored into another database of its own cluster is detected as another one too', async () => {
  const file = `${all.host.folder}/beside.dump`;
  const kept = await dumped(file, ['--schema=tock']);
  await makeDatabase(source.superUrl('postgres'), 'beside');
  await restored(file, source.superUrl('beside'));
  const connect = () => source.connect(source.url('beside'));
  await expectGoesOn(connect, copyLedger(ledger), { ...kept, held: new Map() });
});

test('after a restore of rows without the sequence no new task lies below a cursor', async () => {
  const file = `${all.host.folder}/data.dump`;
  const sequences = ['positions', 'system_identity', 'stream_numbers'];
  const without = sequences.flatMap((name) => ['--exclude-table', `tock.${name}`]);
  const kept = await dumped(file, ['--data-only', '--schema=tock', ...without]);
  await emptied('data_only');
  await restored(file, target.superUrl('data_only'), ['--data-only']);
  const stored = await expectMended('data_only');
  const connect = () => target.connect(target.url('data_only'));
  await expectGoesOn(connect, copyLedger(ledger), { ...kept, held: new Map() }, stored);
});

test('a database filled by logical replication continues above its rows', async () => {
  const admin = await emptied('replica');
  const publisher = await source.connect(source.superUrl());
  await publisher.query('create publication everything for tables in schema tock');
  const { hostname, port, username, password, pathname } = new URL(source.superUrl());
  const from = `host=${hostname} port=${port} user=${username} password=${password} dbname=${pathname.slice(1)}`;
  await admin.query(`create subscription everything connection '${from}' publication everything`);
  const load = startLoad(ledger, () => source.connect());
  await completeMore(ledger, 150);
  await load.stop();
  const written = await value(publisher, 'select pg_current_wal_lsn()');
  await waitUntil('the replica has received everything', () =>
    value<boolean>(
      admin,
      `select bool_and(latest_end_lsn >= $1) and not exists (
         select from pg_subscription_rel where srsubstate <> 'r')
       from pg_stat_subscription where relid is null`,
      [written],
    ),
  );
  await admin.query('drop subscription everything');
  const stored = await expectMended('replica');
  const connect = () => target.connect(target.url('replica'));
  await expectGoesOn(connect, ledger, copyLedger(ledger), stored);
});
