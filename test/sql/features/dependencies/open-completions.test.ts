import { describe, expect, test } from 'vitest';
import { conditionTimeout } from '../../../timeout.ts';
import {
  ageClosedSegments,
  closeSegments,
  dropExpiredSegments,
  startNextSegment,
  verifySegments,
} from '../../kernel/segment/segments.ts';
import { client, databasePerTest, db } from '../../test_database.ts';
import {
  claim,
  complete,
  enqueue,
  expire,
  leaseOf,
  makeDue,
  numberedTasks,
  pidOf,
  promote,
  reap,
  rows,
  task,
  value,
  waitUntilBlocked,
} from '../../verbs.ts';

databasePerTest();
const stateOf = async (id: string) => (await task(client, id))?.state;

test('a parent that was done long ago counts as done after its history is deleted', async () => {
  await client.query(`select tock.put_queue('*', '{"retention_seconds": 60}')`);
  const [a = ''] = await enqueue(client, 'a', [{}]);
  const [b = ''] = await enqueue(client, 'b', [{ delay_seconds: 86_400 }]);
  const [child = ''] = await enqueue(client, 'c', [{ depends_on: [a, b] }]);
  await complete(client, leaseOf(await claim(client, 'a')));
  expect(await stateOf(a)).toBe('done');
  await startNextSegment(client);
  await closeSegments(client);
  await verifySegments(client);
  await ageClosedSegments(client, '2 hours');
  await dropExpiredSegments(client);
  expect(await stateOf(a)).toBeUndefined();
  expect(await stateOf(child)).toBe('waiting');
  await client.query('select tock.reschedule(array[$1::bigint], now())', [b]);
  await complete(client, leaseOf(await claim(client, 'b')));
  await promote(client);
  expect(await task(client, child)).toMatchObject({ state: 'ready', error: null });
});

describe('a chain of three, completed in a transaction that is open', () => {
  async function chain() {
    const ids = await enqueue(client, 'q', [
      { name: 'a' },
      { name: 'b', depends_on: ['a'] },
      { depends_on: ['b'] },
    ]);
    const other = await db.connect();
    await makeDue(client, 'q');
    await other.query('begin');
    await complete(other, leaseOf(await claim(client, 'q')));
    return { ids, other };
  }
  test('blocks no claim of another queue', async () => {
    await enqueue(client, 'z', [{ payload: 'plain' }]);
    const { other } = await chain();
    await client.query(`set statement_timeout = ${conditionTimeout}`);
    try {
      // A claim promotes if it finds no run, and one in sixteen others does too. The second claim finds none.
      await rows(client, "select * from tock.claim(p_queue => 'z', p_own_transaction => true)");
      await rows(client, "select * from tock.claim(p_queue => 'z', p_own_transaction => true)");
    } finally {
      await other.query('commit');
      await client.query('reset statement_timeout');
    }
  });
  test('blocks no other due task', async () => {
    const { other } = await chain();
    const [due = ''] = await enqueue(client, 'z', [{ delay_seconds: 1000 }]);
    await makeDue(client, 'z');
    await client.query(`set statement_timeout = ${conditionTimeout}`);
    try {
      await client.query('select tock.tick()');
      expect(
        await value(client, "select last_error from tock.maintenance_jobs where name = 'promote'"),
      ).toBeNull();
      expect(await stateOf(due)).toBe('ready');
    } finally {
      await other.query('commit');
      await client.query('reset statement_timeout');
    }
  });
  test('does not deadlock with promotion when it changes the third', async () => {
    const { ids, other } = await chain();
    const pid = await pidOf(client);
    const promoting = promote(client).then(
      () => null,
      (e) => e.code,
    );
    await waitUntilBlocked(other, pid, promoting);
    const changing = await other
      .query('select tock.reprioritize(array[$1::bigint], 2)', [ids[2]])
      .then(
        () => null,
        (e: { code: string }) => e.code,
      );
    await other.query(changing === null ? 'commit' : 'rollback');
    expect([changing, await promoting]).toEqual([null, null]);
  });
});

test('a parent that an open completion admits blocks no claim', async () => {
  await enqueue(client, 'g', [
    { concurrency_key: 'x' },
    { concurrency_key: 'x', name: 'p' },
    { depends_on: ['p'] },
  ]);
  await promote(client);
  await client.query('update tock.waiting set due_at = now() where due_after_parents is not null');
  const runs = await claim(client, 'g');
  const other = await db.connect();
  await other.query('begin');
  await complete(other, leaseOf(runs));
  await client.query(`set statement_timeout = ${conditionTimeout}`);
  try {
    await rows(client, "select * from tock.claim(p_queue => 'z', p_own_transaction => true)");
  } finally {
    await other.query('commit');
    await client.query('reset statement_timeout');
  }
});

test('results of 256 MiB in all do not stop completion, the reaper, promotion and claims', async () => {
  const parents = 1200;
  const ids = await enqueue(client, 'big', [
    ...numberedTasks(parents),
    { depends_on: ['*'], include_results: true, on_parent_failure: 'run' },
  ]);
  const child = ids.pop() as string;
  const leases: string[] = [];
  for (let left = parents; left > 0; left -= 100)
    leases.push(leaseOf(await claim(client, 'big', { limit: Math.min(100, left) })));
  const last = leases.shift() as string;
  const finish = (lease: string) =>
    client.query(
      `select tock.complete($1, (select jsonb_agg(jsonb_build_object('id', r.id::text, 'result', repeat('x', 262000)))
         from tock.leased_runs($1) r))`,
      [lease],
    );
  for (const lease of leases) await finish(lease);
  const codes: Record<string, unknown> = {};
  const code = (p: Promise<unknown>) =>
    p.then(
      () => null,
      (e) => `${e.code} ${e.message}`,
    );
  codes.complete = await code(finish(last));
  // A worker whose completion fails loses its lease. The reaper must then get past it to other queues' leases.
  await client.query(`select tock.put_queue('big', '{"max_lost": 1}')`);
  await expire(client, last);
  await enqueue(client, 'other', [{}]);
  const [lost] = await claim(client, 'other');
  await expire(client, lost?.lease as string);
  codes.reap = await code(reap(client));
  codes.maintenance_job = await value(client, "select tock.run_maintenance('reap', 0)");
  codes.other = await stateOf(lost?.id as string);
  // In the other case the completion succeeds while another transaction holds the child.
  await client.query(
    "update tock.leases set leased_until = now() + interval '1 hour' where token = $1",
    [last],
  );
  const busy = await db.connect();
  await busy.query('begin');
  await busy.query('select tock.reprioritize(array[$1::bigint], 3)', [child]);
  codes.completeThen = await code(finish(last));
  await busy.query('commit');
  const [due = ''] = await enqueue(client, 'plain', [{ delay_seconds: 1000 }]);
  await client.query("update tock.waiting set due_at = now() - interval '1 s'");
  codes.promote = await code(promote(client));
  codes.claim = await code(
    rows(client, "select * from tock.claim(p_queue => 'empty', p_own_transaction => true)"),
  );
  codes.due = await stateOf(due);
  codes.child = await stateOf(child);
  expect(codes).toEqual({
    complete: null,
    reap: null,
    maintenance_job: expect.any(Number),
    other: 'ready',
    completeThen: null,
    promote: null,
    claim: null,
    due: 'ready',
    child: 'ready',
  });
});
