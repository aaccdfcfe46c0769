import { describe, expect, test } from 'vitest';
import { client, db, oneDatabase } from '../../test_database.ts';
import {
  claim,
  complete,
  enqueue,
  expire,
  fail,
  leaseOf,
  reap,
  refusal,
  rows,
  promote as sweep,
  task,
  value,
} from '../../verbs.ts';
import { gated, payloads, promote, setQueue, take } from './concurrency_keys.ts';

oneDatabase();

test('of a key one task at a time starts, in the order of enqueueing', async () => {
  const ids = await enqueue(client, 'serial', [...gated('a', 0, 3), ...gated('b', 10, 2)]);
  expect((await task(client, ids[0] as string))?.state).toBe('waiting');
  const first = await take(client, 'serial');
  expect(payloads(first).sort()).toEqual([0, 10]);
  expect(await take(client, 'serial')).toEqual([]);
  expect((await task(client, ids[1] as string))?.state).toBe('waiting');
  await complete(client, leaseOf(first));
  expect(payloads(await take(client, 'serial')).sort()).toEqual([1, 11]);
});

test('a thousand tasks with a gate each come in together', async () => {
  const tasks = Array.from({ length: 1000 }, (_, n) => ({ payload: n, gate: `gate ${n}` }));
  await enqueue(client, 'together', tasks);
  await promote(client);
  const runs = await claim(client, 'together', { limit: 1000 });
  expect(runs).toHaveLength(1000);
  await enqueue(client, 'together', tasks);
  await promote(client);
  await complete(client, leaseOf(runs));
  expect(await claim(client, 'together', { limit: 1000 })).toHaveLength(1000);
});

test('tasks without a gate are not held up by those with one', async () => {
  await enqueue(client, 'mixed', gated('a', 0, 3));
  await enqueue(client, 'mixed', [{ payload: 'plain' }, { payload: 'too' }]);
  const runs = [...(await take(client, 'mixed')), ...(await take(client, 'mixed'))];
  expect(payloads(runs).sort()).toEqual([0, 'plain', 'too']);
});

describe('the next may come in when a task', () => {
  const ends: [string, (lease: string, id: string) => Promise<unknown>][] = [
    ['is done', (lease) => complete(client, lease)],
    ['is done with a result', (lease, id) => complete(client, lease, [{ id, result: 1 }])],
    ['is dead', (lease) => fail(client, lease, { fatal: true })],
    [
      'is cancelled and failed',
      async (lease, id) => {
        await client.query('select tock.cancel(array[$1::bigint])', [id]);
        await fail(client, lease, { retry_in_seconds: 0 });
      },
    ],
    [
      'is lost once too often',
      async (lease) => {
        await expire(client, lease);
        await reap(client);
      },
    ],
  ];
  test.each(ends)('%s', async (name, end) => {
    const queue = `end-${name.replaceAll(' ', '-')}`;
    await setQueue(client, queue, { max_lost: 1 });
    const [id] = await enqueue(client, queue, gated('k', 0, 2));
    const first = await take(client, queue);
    expect(payloads(first)).toEqual([0]);
    await end(leaseOf(first), id as string);
    expect(payloads(await take(client, queue))).toEqual([1]);
  });

  test('is cancelled while it is ready', async () => {
    const [id] = await enqueue(client, 'cancelled', gated('k', 0, 2));
    await promote(client);
    expect((await task(client, id as string))?.state).toBe('ready');
    await client.query('select tock.cancel(array[$1::bigint])', [id]);
    expect(
      payloads([...(await take(client, 'cancelled')), ...(await take(client, 'cancelled'))]),
    ).toEqual([1]);
  });

  test('expires while it is ready', async () => {
    const [id] = await enqueue(client, 'expired', gated('k', 0, 2));
    await promote(client);
    await client.query(
      `update tock.runs set options = options || jsonb_build_object('expires_at', now() - interval '1 s')
       where task_id = $1`,
      [id],
    );
    expect(
      payloads([...(await take(client, 'expired')), ...(await take(client, 'expired'))]),
    ).toEqual([1]);
    expect((await task(client, id as string))?.state).toBe('expired');
  });

  test('is given up as it waits for its turn, too', async () => {
    const ids = await enqueue(client, 'given-up', gated('k', 0, 3));
    const first = await take(client, 'given-up');
    await client.query('select tock.cancel(array[$1::bigint])', [ids[1]]);
    await complete(client, leaseOf(first));
    expect(payloads(await take(client, 'given-up'))).toEqual([2]);
  });
});

test('a retry keeps its turn, and gives it up where the queue says so', async () => {
  await setQueue(client, 'keeps', { backoff_base_seconds: 0, backoff_jitter: 0 });
  await setQueue(client, 'yields', {
    backoff_base_seconds: 0,
    backoff_jitter: 0,
    gate_retry: 'yield',
  });
  for (const queue of ['keeps', 'yields']) {
    await enqueue(client, queue, gated('k', 0, 2));
    const first = await take(client, queue);
    expect(payloads(first)).toEqual([0]);
    await fail(client, leaseOf(first));
    const next = await take(client, queue);
    expect(payloads(next)).toEqual([queue === 'keeps' ? 0 : 1]);
    await complete(client, leaseOf(next));
    await client.query(
      "update tock.waiting set due_at = now() - interval '1 s' where due_at < 'infinity'",
    );
    await sweep(client);
    expect(payloads(await take(client, queue))).toEqual([queue === 'keeps' ? 1 : 0]);
  }
});

test('a retry that waits holds the gate, and goes on when its time has come', async () => {
  await setQueue(client, 'backing-off', { backoff_base_seconds: 3600 });
  const [id] = await enqueue(client, 'backing-off', gated('k', 0, 2));
  await fail(client, leaseOf(await take(client, 'backing-off')));
  expect(await take(client, 'backing-off')).toEqual([]);
  await client.query("update tock.waiting set due_at = now() - interval '1 s' where task_id = $1", [
    id,
  ]);
  await sweep(client);
  const again = await take(client, 'backing-off');
  expect(payloads(again)).toEqual([0]);
  expect(again[0]?.attempt).toBe(2);
});

test('a task that was put off for later gives up its turn', async () => {
  const [id] = await enqueue(client, 'put-off', gated('k', 0, 2));
  await promote(client);
  await client.query("select tock.reschedule(array[$1::bigint], now() + interval '1 hour')", [id]);
  expect(
    payloads([...(await take(client, 'put-off')), ...(await take(client, 'put-off'))]),
  ).toEqual([1]);
  await client.query('select tock.reschedule(array[$1::bigint], now())', [id]);
  expect(await take(client, 'put-off')).toEqual([]);
  expect((await task(client, id as string))?.state).toBe('waiting');
});

test('a gate is listed, resized, paused and reset', async () => {
  await enqueue(client, 'governed', gated('k', 0, 6));
  expect(payloads(await take(client, 'governed'))).toEqual([0]);
  const list = () =>
    rows(
      client,
      `select gate, paused, gate_limit, cardinality(inside) as inside, waiting from tock.gates('governed')`,
    );
  expect(await list()).toEqual([
    { gate: 'k', paused: false, gate_limit: 1, inside: 1, waiting: 5 },
  ]);
  await client.query(`select tock.put_gate('governed', 'k', '{"gate_limit": 3}')`);
  expect(payloads(await take(client, 'governed')).sort()).toEqual([1, 2]);
  await client.query(`select tock.put_gate('governed', 'k', '{"paused": true, "gate_limit": 6}')`);
  expect(await take(client, 'governed')).toEqual([]);
  await client.query(`select tock.put_gate('governed', 'k', '{"paused": false, "gate_limit": 4}')`);
  expect(payloads(await take(client, 'governed'))).toEqual([3]);
  expect(await value(client, `select tock.reset_gate('governed', 'k')`)).toBe(true);
  expect(await list()).toEqual([
    { gate: 'k', paused: false, gate_limit: 1, inside: 4, waiting: 2 },
  ]);
  expect(await value(client, `select tock.reset_gate('governed', 'unknown')`)).toBe(false);
});

test('a gate with a rate lets in a burst, and then one by one as time goes by', async () => {
  await setQueue(client, 'rated', {
    gate_limit: 100,
    gate_rate_limit: 1,
    gate_rate_seconds: 3600,
    gate_rate_burst: 3,
  });
  await enqueue(client, 'rated', gated('k', 0, 6));
  expect(payloads(await take(client, 'rated'))).toEqual([0, 1, 2]);
  expect(await take(client, 'rated')).toEqual([]);
  const minutes = `select round(extract(epoch from min(due_at) - now()) / 60)::int from tock.waiting
    where queue = 'rated' and due_at < 'infinity'`;
  expect(await value(client, minutes)).toBe(60);
  // two hours later
  await client.query(
    "update tock.turns set turned_at = turned_at - interval '2 hours' where queue = 'rated'",
  );
  await client.query(`update tock.waiting set due_at = due_at - interval '2 hours'
    where queue = 'rated' and due_at < 'infinity'`);
  await sweep(client);
  expect(payloads(await take(client, 'rated')).sort()).toEqual([3, 4]);
  expect(await take(client, 'rated')).toEqual([]);
  await client.query(`select tock.reset_gate('rated', 'k')`);
  expect(payloads(await take(client, 'rated'))).toEqual([5]);
});

test('who came to the gate first comes in first, though it was delayed or had failed before', async () => {
  await setQueue(client, 'line', { gate_retry: 'yield', backoff_base_seconds: 3600 });
  await enqueue(client, 'line', gated('k', 'delayed', 1, { delay_seconds: 3600 }));
  await enqueue(client, 'line', gated('k', 0, 2));
  const makeDue = async () => {
    await client.query(
      "update tock.waiting set due_at = now() - interval '1 s' where queue = 'line' and due_at < 'infinity'",
    );
    await sweep(client);
  };
  const first = await take(client, 'line');
  await makeDue();
  await fail(client, leaseOf(first));
  await makeDue();
  const seen: unknown[] = [];
  for (let n = 2; n < 5; n++) {
    await enqueue(client, 'line', gated('k', n));
    const runs = await take(client, 'line');
    seen.push(...payloads(runs));
    await complete(client, leaseOf(runs));
  }
  expect(seen).toEqual([1, 'delayed', 0]);
});

test('an old snapshot lets nobody in, and its settings are refused', async () => {
  const [holder, other] = [await db.connect(), await db.connect()];
  await enqueue(client, 'snapshot', gated('k', 0));
  await complete(client, leaseOf(await take(client, 'snapshot')));
  await holder.query("begin; select from tock.gates where queue = 'snapshot' for update");
  await enqueue(client, 'snapshot', gated('k', 1, 2));
  await promote(client);
  await holder.query('commit');
  await other.query('begin isolation level repeatable read');
  await other.query('select count(*) from tock.turns');
  expect(payloads(await take(client, 'snapshot'))).toEqual([]);
  await sweep(client);
  const first = await take(client, 'snapshot');
  expect(payloads(first)).toEqual([1]);
  expect(await value(other, "select tock.open_gates(array['snapshot'], array['k'])")).toBe(0);
  await other.query('savepoint a');
  const refused = await refusal(other.query("select tock.put_gate('snapshot', 'k', '{}')"));
  expect(refused.code).toBe('TK409');
  await other.query('rollback to a; commit');
  expect(await take(client, 'snapshot')).toEqual([]);
  await complete(client, leaseOf(first));
  expect(payloads(await take(client, 'snapshot'))).toEqual([2]);
});

test('an alarm goes by the rate as it is now', async () => {
  await setQueue(client, 'alarm', { gate_limit: 9, gate_rate_limit: 1, gate_rate_seconds: 86400 });
  await enqueue(client, 'alarm', gated('k', 0, 2));
  expect(payloads(await take(client, 'alarm'))).toEqual([0]);
  const hours = `select round(extract(epoch from min(due_at) - now()) / 3600)::int from tock.waiting
    where queue = 'alarm' and due_at < 'infinity'`;
  expect(await value(client, hours)).toBe(24);
  await setQueue(client, 'alarm', { gate_rate_seconds: 36000 });
  await sweep(client);
  expect(await value(client, hours)).toBe(10);
  await setQueue(client, 'alarm', { gate_rate_limit: null });
  await sweep(client);
  expect(payloads(await take(client, 'alarm'))).toEqual([1]);
});

test('a claim through a gate commits synchronously', async () => {
  await enqueue(client, 'synchronous', gated('k'));
  await promote(client);
  const { rows: claimed } = await client.query(
    `select c.id, current_setting('synchronous_commit') as setting
     from tock.claim('synchronous', p_alone => true) as c`,
  );
  expect(claimed).toMatchObject([{ setting: 'on' }]);
});

test('who was put off while it was to wake its gate comes at its time, also when the gate is reset', async () => {
  await setQueue(client, 'woken', { gate_limit: 100, gate_rate_limit: 1, gate_rate_seconds: 3600 });
  const ids = await enqueue(client, 'woken', gated('k', 0, 2));
  expect(payloads(await take(client, 'woken'))).toEqual([0]);
  await client.query("select tock.reschedule(array[$1::bigint], now() + interval '1 hour')", [
    ids[1],
  ]);
  await client.query(`select tock.reset_gate('woken', 'k')`);
  const minutes = `select round(extract(epoch from due_at - now()) / 60) from tock.waiting where queue = 'woken'`;
  expect(await value(client, minutes)).toBe('60');
});
