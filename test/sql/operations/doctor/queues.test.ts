import { expect, test } from 'vitest';
import { startNextSegment } from '../../kernel/segment/segments.ts';
import { client, databasePerTest, db } from '../../test_database.ts';
import {
  claim,
  complete,
  enqueue,
  expire,
  fail,
  leaseOf,
  numberedTasks,
  promote,
  reap,
  value,
} from '../../verbs.ts';
import { doctor, expectDoctor, type Finding, named } from '../findings.ts';

databasePerTest();

const old = (interval: string) =>
  client.query('update tock.runs set created_at = now() - $1::interval', [interval]);
/** Moves these times of all leases to this long ago. */
async function leased(ago: string, ...columns: string[]): Promise<void> {
  for (const column of columns.length ? columns : ['claimed_at', 'closed_at'])
    await client.query(`update tock.leases set ${column} = now() - $1::interval`, [ago]);
}
const pause = (paused: boolean) => client.query("select tock.put_queue('q', $1)", [{ paused }]);

test('a queue without claims for ten minutes is found, and not once it is claimed from', async () => {
  await enqueue(client, 'q', numberedTasks(3));
  expect(await named()).toEqual([]);
  await old('11 minutes');
  await expectDoctor(
    /: no worker claims from a queue: a task of queue q has been ready since 20.*Z, .* => .*tock drop q --force/,
  );
  const lease = leaseOf(await claim(client, 'q'));
  expect(await named()).toEqual([]);
  await leased('11 minutes', 'claimed_at');
  // The worker still has the runs of that claim, and may need long for them.
  expect(await named()).toEqual([]);
  await complete(client, lease);
  // A worker that has just completed a lease may be about to claim the next one.
  expect(await named()).toEqual([]);
  await leased('11 minutes', 'closed_at');
  expect(await named()).toEqual(['no worker claims from a queue']);
  await client.query(`select tock.put_queue('q', '{"rate_limit": 1, "rate_seconds": 3600}')`);
  expect(await named()).toEqual([]);
  await old('2 hours');
  await leased('71 minutes');
  expect(await named()).toEqual(['no worker claims from a queue']);
});

test('a queue at its limit without claims is found, but not while a run is leased in any stream', async () => {
  await client.query(`select tock.put_queue('q', '{"max_running": 2}')`);
  await enqueue(client, 'q', [{ priority: 5 }]);
  const lease = leaseOf(await claim(client, 'q'));
  await enqueue(client, 'q', [{ priority: 1 }]);
  await old('1 day');
  await client.query(`update tock.streams set awake = false where priority = 5`);
  expect(await named()).toEqual([]);
  await complete(client, lease);
  expect(await named()).toEqual(['no worker claims from a queue']);
});

test('a task that waited long is ready since its promotion, at any attempt', async () => {
  await enqueue(client, 'q', [{ delay_seconds: 3600 }]);
  const due = () =>
    client.query(
      "update tock.waiting set created_at = now() - interval '1 hour', due_at = now() - interval '1 s'",
    );
  await due();
  await client.query("update tock.waiting set created_at = now() - interval '2 days'");
  await promote(client);
  expect(await named()).toEqual([]);
  await pause(true);
  expect(await named()).toEqual([]);
  await pause(false);
  await fail(client, leaseOf(await claim(client, 'q')), { retry_in_seconds: 3600 });
  await due();
  await leased('1 hour');
  await promote(client);
  expect(await named()).toEqual([]);
  await client.query(
    "update tock.promotions set (due_at, promoted_at) = (select t, t from (select now() - interval '11 minutes') a(t))",
  );
  expect(await named()).toEqual(['no worker claims from a queue']);
});

test('a task that is retried at once is ready since its last run ended', async () => {
  await enqueue(client, 'q', numberedTasks(1));
  await old('2 days');
  await fail(client, leaseOf(await claim(client, 'q')), { retry_in_seconds: 0 });
  await leased('11 minutes');
  const at = await value(
    client,
    "update tock.results set ended_at = now() - interval '11 minutes' returning tock.utc(ended_at)",
  );
  await expectDoctor(`has been ready since ${at}, and none`);
});

test('cancelled tasks do not count as ready', async () => {
  const ids = await enqueue(client, 'q', numberedTasks(3));
  await old('1 day');
  expect(await named()).toEqual(['no worker claims from a queue']);
  await client.query('select tock.cancel($1::bigint[])', [ids]);
  expect(await named()).toEqual([]);
});

test('a paused queue is found when a task in it has waited for a day', async () => {
  await enqueue(client, 'q', numberedTasks(1));
  await pause(true);
  await old('23 hours');
  expect(await named()).toEqual([]);
  await old('25 hours');
  const [finding] = await doctor();
  expect(finding?.finding).toBe('a paused queue has ready tasks');
  await client.query((finding as Finding).hint.split(', or')[0] as string);
  await claim(client, 'q');
  expect(await named()).toEqual([]);
});

test('a task that lost three workers is found, ready or running, until it is done', async () => {
  const [id = ''] = await enqueue(client, 'q', numberedTasks(1));
  for (let lost = 1; lost <= 3; lost++) {
    expect(await named()).toEqual([]);
    await expire(client, leaseOf(await claim(client, 'q')));
    await reap(client);
  }
  const finding = `again: task ${id} of queue q: 3 runs whose worker vanished => .*tock cancel ${id}`;
  await expectDoctor(finding);
  const lease = leaseOf(await claim(client, 'q'));
  await expectDoctor(finding);
  await complete(client, lease);
  expect(await named()).toEqual([]);
});

test('ten tasks that died of one error within an hour are found, with the newest', async () => {
  const die = async (count: number, message: string) => {
    const ids = await enqueue(client, 'q', numberedTasks(count, 0, { max_attempts: 1 }));
    const failures = ids.map((id) => ({ id, error: { message } }));
    await fail(client, leaseOf(await claim(client, 'q', { limit: count })), failures);
    return ids;
  };
  await die(9, 'no such table');
  await die(3, 'another');
  expect(await named()).toEqual([]);
  const [newest] = await die(1, 'no such table');
  await expectDoctor(
    `: tasks die of the same error: 10 of queue q, the newest ${newest}: no such table => .*tock redrive q --error 'no such table'`,
  );
  await client.query("update tock.results set ended_at = now() - interval '61 minutes'");
  expect(await named()).toEqual([]);
});

test('a tenant bucket that several tenants fill is found, one that a single tenant fills is not', async () => {
  const fill = async (queue: string, tenant?: string) => {
    for (let n = 0; n < 6; n++) await enqueue(client, queue, numberedTasks(40, 0, { tenant }));
  };
  await fill('single', 'alone');
  expect(await named()).toEqual([]);
  const lane = (tenant: string) =>
    value<number>(client, "select tock.lane_of(tock.policy('q'), $1, '{}')::int", [tenant]);
  await client.query(`select tock.put_queue('q', '{"lanes": 2}')`);
  const shared: string[] = [];
  const others: string[] = [];
  for (let n = 0; shared.length < 2 || others.length < 1; n++) {
    ((await lane(`t${n}`)) === 0 ? shared : others).push(`t${n}`);
  }
  const [first, second] = shared;
  await enqueue(client, 'q', numberedTasks(10, 0, { tenant: first }));
  await fill('q', second);
  await expectDoctor(
    /: a lane has nearly all tasks of a queue: lane 0 of queue q has at least 200 .* together 0 => .*"lanes": 8/,
  );
  await enqueue(client, 'q', numberedTasks(20, 0, { tenant: others[0] }));
  expect(await named()).toEqual([]);
});

test('a segment that is not closed within a day is found, with its cause', async () => {
  await enqueue(client, 'q', numberedTasks(2));
  const writer = await db.connect();
  await writer.query('begin');
  await enqueue(writer, 'q', numberedTasks(1));
  await startNextSegment(client);
  expect(await named()).toEqual([]);
  await client.query(
    "update tock.segments set started_at = now() - interval '25 hours' where number = 2",
  );
  const unsettled = (why: string) => expectDoctor(`: a segment does not close: .*${why}.* => `);
  await unsettled('idle in transaction since');
  await writer.query('commit');
  await unsettled('tasks of queue q are not claimed');
  const lease = leaseOf(await claim(client, 'q', { limit: 10, worker: 'w1' }));
  await unsettled('worker w1 holds a lease of queue q until 20');
  await complete(client, lease);
  const rest = await claim(client, 'q', { limit: 10 });
  if (rest.length > 0) await complete(client, leaseOf(rest));
  await unsettled('waits for: nothing');
  await client.query(
    "select tock.run_maintenance('deactivate_streams'), tock.run_maintenance('create_segments')",
  );
  expect(await named()).toEqual([]);
});

test('a segment whose drop is blocked is found after eight attempts', async () => {
  await enqueue(client, 'q', numberedTasks(1));
  await complete(client, leaseOf(await claim(client, 'q')));
  await startNextSegment(client);
  await client.query(
    'select tock.deactivate_streams(), tock.create_segments(), tock.verify_segments()',
  );
  await client.query(
    "update tock.segments set closed_at = now() - interval '7 days 1 hour' where closed_at is not null",
  );
  const reader = await db.connect();
  await reader.query('begin; select from tock.runs limit 1');
  for (let tries = 0; tries < 8; tries++) {
    expect(await named()).toEqual([]);
    await client.query('update tock.segments set drop_after = null');
    await client.query('select tock.drop_expired_segments()');
  }
  await expectDoctor(/: history is not dropped: segment 1 .* tried 8 times => /);
  await reader.query('commit');
  await client.query('update tock.segments set drop_after = null');
  await client.query('select tock.drop_expired_segments()');
  expect(await named()).toEqual([]);
});
