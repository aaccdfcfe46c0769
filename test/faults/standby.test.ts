import { afterAll, beforeAll, expect, test } from 'vitest';
import { expectInvariants } from '../sql/invariants.ts';
import { task, value, waitUntil } from '../sql/verbs.ts';
import { completeMore, expectGoesOn, guardFindings, reachedPosition } from './aftermath.ts';
import { type ClusterMember, type Clusters, makeClusters } from './clusters.ts';
import { copyLedger, finishAll, type Ledger, newestStored, openLedger } from './ledger.ts';
import { startLoad } from './load.ts';

let all: Clusters;
/** The primary now. Each test ends with another one. */
let primary: ClusterMember;
const ledger = openLedger();
let changes = 0;

beforeAll(async () => {
  all = await makeClusters(3);
  primary = await all.make();
  const client = await primary.connect();
  await client.query(`select tock.put_queue('load', '{"max_attempts": 1000, "max_lost": 1000}')`);
});

afterAll(() => all.close());

/** Starts a standby that streams from the primary through a slot. */
async function standbyOf(of: ClusterMember, slot: string): Promise<ClusterMember> {
  const standby = await all.copy(of, ['--write-recovery-conf', '--create-slot', '--slot', slot]);
  await standby.start();
  return standby;
}

/** Makes the standby the primary, and checks what it has. */
async function takeOver(standby: ClusterMember, kept: Ledger): Promise<void> {
  primary = standby;
  const since = await expectGoesOn(() => standby.connect(), ledger, kept);
  const findings = await guardFindings(await standby.connect());
  expect(findings).toEqual(Array(++changes).fill('restored'));
  for (const [id, n] of since.accepted) ledger.accepted.set(id, n);
  ledger.newest = Math.max(ledger.newest, since.newest);
}

test('a server killed and started again is the same one: no jump, no pause, no report', async () => {
  const settings = `select tock.put_queue('careful', '{"pause_after_restore": true}')`;
  await (await primary.connect()).query(settings);
  const load = startLoad(ledger, () => primary.connect());
  await completeMore(ledger, 100);
  await primary.kill9();
  await load.ended;
  await primary.start();

  const client = await primary.connect();
  const going = startLoad(ledger, () => primary.connect());
  const careful = openLedger();
  const carefully = startLoad(careful, () => primary.connect(), 'careful');
  await Promise.all([completeMore(ledger, 100), completeMore(careful, 50)]);
  await Promise.all([going.stop(), carefully.stop()]);
  await client.query('select tock.tick()');
  // A crash skips up to 32 positions, because PostgreSQL logs a sequence 32 values ahead.
  expect(await reachedPosition(client)).toBeLessThan(100_000);
  expect(await guardFindings(client)).toEqual([]);
  await finishAll(client, 'careful');
  await expectInvariants(client);
});

test('with a synchronous standby nothing acknowledged is lost when the primary dies', async () => {
  const standby = await standbyOf(primary, 'first');
  const admin = await primary.connect(primary.superUrl());
  await admin.query("alter system set synchronous_standby_names = '*'");
  await admin.query('select pg_reload_conf()');
  await waitUntil('the standby is synchronous', () =>
    value<boolean>(
      admin,
      "select exists (select from pg_stat_replication where sync_state = 'sync')",
    ),
  );
  const load = startLoad(ledger, () => primary.connect());
  await completeMore(ledger, 200);
  await primary.kill9();
  await load.ended;
  const client = await standby.connect(standby.superUrl());
  expect(await value(client, 'select pg_promote()')).toBe(true);
  // Claims commit asynchronously, so the standby may not have the last ones. Their tasks are ready again there.
  await takeOver(standby, { ...copyLedger(ledger), held: new Map() });
});

test('a promoted standby without the last changes gives no id that the old primary gave', async () => {
  ledger.completed.clear();
  ledger.held.clear();
  const standby = await standbyOf(primary, 'second');
  const client = await standby.connect(standby.superUrl());
  const load = startLoad(ledger, () => primary.connect());
  await completeMore(ledger, 200);
  await waitUntil('a worker holds a lease', async () => ledger.held.size > 0);
  const kept = copyLedger(ledger);
  const old = await primary.connect();
  const written = await value(old, 'select pg_current_wal_insert_lsn()');
  await waitUntil('the standby has received everything', () =>
    value<boolean>(client, 'select pg_last_wal_replay_lsn() >= $1', [written]),
  );
  // The standby can be read meanwhile.
  for (const id of [...kept.accepted.keys()].slice(-3)) {
    expect(await task(client, id)).toMatchObject({ queue: 'load' });
  }
  await client.query("alter system set primary_conninfo = ''");
  await client.query('select pg_reload_conf()');
  await waitUntil('the standby is cut off', () =>
    value<boolean>(client, 'select not exists (select from pg_stat_wal_receiver)'),
  );
  await completeMore(ledger, 200);
  await primary.kill9();
  await load.ended;
  expect(await value(client, 'select pg_promote()')).toBe(true);
  // The lost positions are more than the 32 by which the log of a sequence is ahead.
  expect(await newestStored(client)).toBeLessThan(ledger.newest - 100);
  await takeOver(standby, kept);
});
