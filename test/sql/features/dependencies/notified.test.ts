import { describe, expect, test } from 'vitest';
import { conditionTimeout } from '../../../timeout.ts';
import { createSegments } from '../../kernel/segment/segments.ts';
import { client, databasePerTest, db } from '../../test_database.ts';
import {
  claim,
  complete,
  enqueue,
  expireTask,
  fail,
  leaseOf,
  makeDue,
  numberedTasks,
  pidOf,
  promote,
  refusal,
  rows,
  task,
  value,
  waitForState,
  waitUntilBlocked,
} from '../../verbs.ts';

databasePerTest();

const stateOf = async (id: string) => (await task(client, id))?.state;
const dependency_waits = () =>
  value<number>(client, 'select count(*)::integer from tock.dependency_waits');
/** Makes all children look as if they had waited for `interval` and had just been checked. */
async function watchedFor(interval: string): Promise<void> {
  await client.query('update tock.dependency_waits set waiting_since = now() - $1::interval', [
    interval,
  ]);
  await client.query(
    `update tock.waiting set due_at = clock_timestamp() + least(interval '1 hour', $1::interval)
     where due_after_parents is not null`,
    [interval],
  );
}
const settles = (id: string) => waitForState(client, id, 'ready', false);

test('the first task of a call with *: an empty batch with a callback', async () => {
  const [id = ''] = await enqueue(client, 'q', [{ payload: 'callback', depends_on: ['*'] }]);
  expect(await stateOf(id)).toBe('ready');
});

test('ids of 19 digits', async () => {
  await client.query(
    'select tock.create_segment(end_position, 970000000000) from tock.segments order by number desc limit 1',
  );
  await client.query("select setval('tock.positions', 960000000000)");
  await createSegments(client, '1');
  const [parent = ''] = await enqueue(client, 'q', [{}]);
  expect(parent).toMatch(/^\d{19}$/);
  const [child = ''] = await enqueue(client, 'q', [{ depends_on: [parent] }]);
  expect(await stateOf(child)).toBe('waiting');
});

test('digits of other scripts', async () => {
  const error = await refusal(enqueue(client, 'q', [{ name: 'x' }, { depends_on: ['١٢٣'] }]));
  expect(error.code).toBe('TK422');
});

test('unique_key null beside names', async () => {
  await enqueue(client, 'q', [{ name: 'a', unique_key: null }, { depends_on: ['a'] }]);
});

test('tasks is an object, with a key for some queues', async () => {
  await client.query(`select tock.put_queue('q')`);
  const key = await value<string>(
    client,
    "select (to_jsonb(k) ->> 'key') from tock.create_key('k', array['enqueue'], array['q']) k",
  ).catch((e) => `no ${e.message}`);
  const error = await refusal(
    client.query('select tock.http_enqueue($1, $2, $3, null)', [
      key,
      'q',
      JSON.stringify({ tasks: { depends_on: ['1'] } }),
    ]),
  );
  expect(error).toMatchObject({ code: 'TK422' });
});

describe('lost notifications', () => {
  test('a child whose row another transaction had locked when its parent ended', async () => {
    const other = await db.connect();
    const [parent = ''] = await enqueue(client, 'q', [{}]);
    const [child = ''] = await enqueue(client, 'q', [{ depends_on: [parent] }]);
    await watchedFor('50 minutes');
    await other.query('begin');
    await other.query('select tock.reprioritize(array[$1::bigint], 3)', [child]);
    await complete(client, leaseOf(await claim(client, 'q')));
    await other.query('commit');
    await other.end();
    await settles(child);
  });

  test('a child that a promotion was checking when its parent ended', async () => {
    const other = await db.connect();
    const [parent = ''] = await enqueue(client, 'q', [{}]);
    const [child = ''] = await enqueue(client, 'q', [{ depends_on: [parent] }]);
    await watchedFor('50 minutes');
    await client.query("update tock.waiting set due_at = now() - interval '1 s'");
    const runs = await claim(client, 'q');
    await other.query('begin');
    await promote(other);
    await complete(client, leaseOf(runs));
    await other.query('commit');
    await other.end();
    await settles(child);
  });

  for (const [how, end] of [
    ['cancel', (id: string) => client.query('select tock.cancel(array[$1::bigint])', [id])],
    ['purge', () => client.query("select * from tock.purge_queue('p')")],
    [
      'drop',
      async () => {
        await client.query("select tock.put_queue('p', '{\"paused\": true}')");
        await client.query("select * from tock.drop_queue('p')");
      },
    ],
  ] as const) {
    for (const options of [{}, { delay_seconds: 1000 }])
      test(`${how} of a ${'delay_seconds' in options ? 'waiting' : 'ready'} parent whose child has waited for long`, async () => {
        const [parent = ''] = await enqueue(client, 'p', [options]);
        const [child = ''] = await enqueue(client, 'q', [
          { depends_on: [parent], on_parent_failure: 'run' },
        ]);
        await watchedFor('50 minutes');
        await end(parent);
        expect(await stateOf(parent)).toBe('cancelled');
        await settles(child);
      });
  }
});

describe('stale dependency waits', () => {
  test('of a cancelled child whose parent is purged then', async () => {
    const [parent = ''] = await enqueue(client, 'p', [{}]);
    const [child = ''] = await enqueue(client, 'q', [{ depends_on: [parent] }]);
    await client.query('select tock.cancel(array[$1::bigint])', [child]);
    await client.query("select * from tock.purge_queue('p')");
    await promote(client);
    await client.query('select tock.tick()');
    expect(await dependency_waits()).toBe(0);
  });
  test('of a cancelled child whose parent expires', async () => {
    const [parent = ''] = await enqueue(client, 'p', [{ expires_in_seconds: 1000 }]);
    const [child = ''] = await enqueue(client, 'q', [{ depends_on: [parent] }]);
    await client.query('select tock.cancel(array[$1::bigint])', [child]);
    await expireTask(client, parent);
    await promote(client);
    expect(await claim(client, 'p')).toEqual([]);
    await client.query('select tock.tick()');
    expect(await dependency_waits()).toBe(0);
  });
  test('of a purged queue of children of a dead parent', async () => {
    const [parent = ''] = await enqueue(client, 'p', [{}]);
    await enqueue(
      client,
      'q',
      numberedTasks(100, 0, { depends_on: [parent], on_parent_failure: 'wait' }),
    );
    await fail(client, leaseOf(await claim(client, 'p')), { fatal: true });
    await client.query("select * from tock.purge_queue('q')");
    await promote(client);
    await client.query('select tock.tick()');
    expect(await dependency_waits()).toBe(0);
  });
});

describe('blocked by an open transaction', () => {
  test('promotion, while another transaction has made a waiting parent ready', async () => {
    const other = await db.connect();
    const [parent = ''] = await enqueue(client, 'p', [{ delay_seconds: 1000 }]);
    await enqueue(client, 'q', [{ depends_on: [parent] }]);
    await makeDue(client, 'q');
    await other.query('begin');
    await other.query('select tock.reschedule(array[$1::bigint], now())', [parent]);
    try {
      await client.query(`set statement_timeout = ${conditionTimeout}`);
      await promote(client);
      expect(await value(client, "select tock.run_maintenance('promote')")).not.toBeNull();
    } finally {
      await other.query('rollback');
      await other.end();
      await client.query('reset statement_timeout');
    }
  });

  test('claims of any queue, and due tasks, for the same reason', async () => {
    const other = await db.connect();
    const [parent = ''] = await enqueue(client, 'p', [{ delay_seconds: 1000 }]);
    await enqueue(client, 'q', [{ depends_on: [parent] }]);
    const [plain = ''] = await enqueue(client, 'z', [{ delay_seconds: 1000 }]);
    await makeDue(client, 'q');
    await makeDue(client, 'z');
    await other.query('begin');
    await other.query('select tock.reschedule(array[$1::bigint], now())', [parent]);
    try {
      await client.query(`set statement_timeout = ${conditionTimeout}`);
      const runs = await rows<{ id: string }>(
        client,
        "select * from tock.claim(p_queue => 'z', p_own_transaction => true)",
      );
      expect(runs.map((run) => run.id)).toEqual([plain]);
    } finally {
      await other.query('rollback');
      await other.end();
      await client.query('reset statement_timeout');
    }
  });

  test('promotion does not deadlock with a caller that reschedules a parent and cancels a child', async () => {
    const other = await db.connect();
    const [parent = ''] = await enqueue(client, 'p', [{ delay_seconds: 1000 }]);
    const [child = ''] = await enqueue(client, 'q', [{ depends_on: [parent] }]);
    await makeDue(client, 'q');
    await other.query('begin');
    await other.query('select tock.reschedule(array[$1::bigint], now())', [parent]);
    const pid = await pidOf(client);
    const promoting = promote(client).then(
      () => null,
      (e) => e.code,
    );
    await waitUntilBlocked(other, pid, promoting);
    const cancelling = other.query('select tock.cancel(array[$1::bigint])', [child]).then(
      () => null,
      (e: { code: string }) => e.code,
    );
    const first = await cancelling;
    await other.query(first === null ? 'commit' : 'rollback');
    expect([first, await promoting]).toEqual([null, null]);
    await other.end();
  });
});

test('an expired child that was erased stays erased', async () => {
  const [parent = ''] = await enqueue(client, 'p', [{}]);
  const [child = ''] = await enqueue(client, 'q', [
    { payload: 'secret', depends_on: [parent], include_results: true, expires_in_seconds: 1000 },
  ]);
  await expireTask(client, child);
  expect(await stateOf(child)).toBe('expired');
  await client.query('select tock.erase($1)', [child]);
  const [run] = await claim(client, 'p');
  await complete(client, run?.lease as string, [{ id: parent, result: 'of a person' }]);
  await promote(client);
  expect(await task(client, child)).toMatchObject({ state: 'expired', payload: null });
});

test('a payload with included results is no larger than its queue allows', async () => {
  await client.query(`select tock.put_queue('q', '{"max_payload_bytes": 1024}')`);
  const [id = ''] = await enqueue(client, 'q', [{}]);
  await enqueue(client, 'q', [
    { payload: 'y'.repeat(900), depends_on: [id], include_results: true },
  ]);
  await complete(client, leaseOf(await claim(client, 'q')), [{ id, result: 'x'.repeat(900) }]);
  const [run] = await claim(client, 'q');
  expect(JSON.stringify(run?.payload).length).toBeLessThan(1100);
});

test('parents() in a read-only transaction', async () => {
  const [parent = ''] = await enqueue(client, 'p', [
    { delay_seconds: 1000, expires_in_seconds: 2000 },
  ]);
  const [child = ''] = await enqueue(client, 'q', [{ depends_on: [parent] }]);
  await expireTask(client, parent);
  await client.query('begin read only');
  try {
    await rows(client, 'select * from tock.parents($1)', [child]);
  } finally {
    await client.query('rollback');
  }
});
