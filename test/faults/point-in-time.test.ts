import type pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  claim,
  complete,
  enqueue,
  leaseOf,
  numberedTasks,
  value,
  waitUntil,
} from '../sql/verbs.ts';
import { completeMore, expectGoesOn, guardFindings } from './aftermath.ts';
import { type ClusterMember, type Clusters, makeClusters, type Settings } from './clusters.ts';
import {
  copyLedger,
  expectDone,
  finishAll,
  type Ledger,
  newestStored,
  openLedger,
  positionOf,
} from './ledger.ts';
import { startLoad } from './load.ts';

let all: Clusters;
let first: ClusterMember;
let restored: ClusterMember;
const settings: Settings = {};
/** What the first cluster acknowledged in all, and up to the chosen time. */
const ledger = openLedger();
let kept: Ledger;
/** The ready tasks of the queue with pause_after_restore. */
let careful: string[];
/** The newest position that was restored. */
let stored: number;

// The first cluster continues meanwhile, so the restored one is a branch of it.
beforeAll(async () => {
  all = await makeClusters(2);
  const archive = `${all.host.folder}/archive`;
  await all.host.run(['mkdir', archive]);
  first = await all.make({
    archive_mode: 'on',
    archive_command: `cp "%p" "${archive}/%f.part" && mv "${archive}/%f.part" "${archive}/%f"`,
  });
  const client = await first.connect();
  await client.query(`select tock.put_queue('load', '{"max_attempts": 1000, "max_lost": 1000}')`);
  await client.query(`select tock.put_queue('careful', '{"pause_after_restore": true}')`);
  careful = await enqueue(client, 'careful', numberedTasks(5));

  const load = startLoad(ledger, () => first.connect());
  settings.restore_command = `cp "${archive}/%f" "%p"`;
  restored = await all.copy(first, ['--wal-method=none'], settings);
  await completeMore(ledger, 150);
  kept = copyLedger(ledger);
  settings.recovery_target_time = await value(client, 'select clock_timestamp()::text');
  settings.recovery_target_action = 'promote';
  await completeMore(ledger, 150);
  await load.stop();
  const admin = await first.connect(first.superUrl());
  const last = await value(admin, 'select pg_walfile_name(pg_switch_wal())');
  await waitUntil('the last of the log is archived', () =>
    value<boolean>(admin, 'select last_archived_wal >= $1 from pg_stat_archiver', [last]),
  );

  await all.host.write(`${restored.folder}/data/recovery.signal`, '');
  await restored.start();
  const watcher = await restored.connect(restored.superUrl());
  await waitUntil('the restore has ended', () =>
    value<boolean>(watcher, 'select not pg_is_in_recovery()'),
  );
  stored = await newestStored(watcher);
});

afterAll(() => all.close());

const claimIds = async (on: pg.Client, queue: string) =>
  (await claim(on, queue, { limit: 100 })).map((run) => run.id);

test('claims of a queue with pause_after_restore return no runs after a restore until it is resumed', async () => {
  const on = await restored.connect();
  // The first call of all detects the restore and is rolled back. The next call must detect it again.
  const undone = await restored.connect();
  await undone.query('begin');
  await enqueue(undone, 'careful', numberedTasks(1));
  await undone.query('rollback');
  expect(await claimIds(on, 'careful')).toEqual([]);
  expect(await value(on, "select (tock.claim_state('{careful}')).state")).toBe('paused');

  for (const maintenance_jobs of ['tick()', "run_maintenance('guard')"])
    await on.query(`select tock.${maintenance_jobs}`);
  careful.push(...(await enqueue(on, 'careful', numberedTasks(2))));
  expect(await claimIds(on, 'careful')).toEqual([]);
  await on.query(`select tock.put_queue('made-since', '{"pause_after_restore": true}')`);
  const since = await enqueue(on, 'made-since', numberedTasks(1));
  expect(await claimIds(on, 'made-since')).toEqual(since);

  await on.query(`select tock.put_queue('careful', '{"paused": false}')`);
  const runs = await claim(on, 'careful', { limit: 3 });
  await complete(on, leaseOf(runs));
  await restored.kill9();
  await restored.start();
  const after = await restored.connect();
  const rest = await claimIds(after, 'careful');
  expect([...runs.map((run) => run.id), ...rest].sort()).toEqual([...careful].sort());
  // The restore is reported once, although the first call that detected it was rolled back.
  expect(await guardFindings(after)).toEqual(['restored']);
});

test('a point-in-time restore has all that was acknowledged by then, and gives no id twice', async () => {
  expect(stored).toBeLessThan(ledger.newest - 100);
  await expectGoesOn(() => restored.connect(), ledger, kept, stored);
});

test('the cluster that was restored elsewhere shows no finding', async () => {
  const client = await first.connect();
  await client.query('select tock.tick()');
  const newest = await newestStored(client);
  const [id] = await enqueue(client, 'load', numberedTasks(1));
  expect(positionOf(id as string)).toBeLessThan(newest + 100);
  expect(await claimIds(client, 'careful')).toHaveLength(5);
  expect(await guardFindings(client)).toEqual([]);
  await finishAll(client, 'load');
  await expectDone(client, ledger.accepted.keys());
});

test('a branch of Neon is another server, although system and timeline are the same', async () => {
  const before = await restored.connect();
  await before.query(`select tock.put_queue('branched', '{"pause_after_restore": true}')`);
  const ids = await enqueue(before, 'branched', numberedTasks(2));
  const newest = await newestStored(before);
  await restored.stop();
  settings['neon.timeline_id'] = 'another';
  await restored.start();

  // The first call detects the branch and stays open. Other calls do not wait for it.
  const first = await restored.connect();
  await first.query('begin');
  expect(await claimIds(first, 'branched')).toEqual([]);
  const on = await restored.connect();
  ids.push(...(await enqueue(on, 'branched', numberedTasks(2))));
  expect(positionOf(ids[2] as string)).toBeGreaterThan(newest + 2 ** 20);
  expect(await claimIds(on, 'branched')).toEqual([]);
  await first.query('rollback');
  await on.query('select tock.tick()');
  expect(await claimIds(on, 'branched')).toEqual([]);
  await on.query(`select tock.put_queue('branched', '{"paused": false}')`);
  expect((await claimIds(on, 'branched')).sort()).toEqual(ids.sort());
});
