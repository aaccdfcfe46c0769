import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Database, freshDatabase } from '../database.ts';
import { expectWhole } from './audit.ts';
import { gated, payloads, promote, setQueue, take } from './gates.ts';
import {
  claim,
  complete,
  enqueue,
  expire,
  fail,
  leaseOf,
  reap,
  refusal,
  release,
  rows,
  promote as sweep,
  task,
  until,
  value,
} from './support.ts';

let db: Database;
let client: pg.Client;

beforeAll(async () => {
  db = await freshDatabase();
  client = await db.connect();
});

afterAll(() => db.drop());

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

describe('no wake-up is lost', () => {
  test('when a task comes while the completion of the one inside is open', async () => {
    const other = await db.connect();
    await enqueue(client, 'late-end', gated('k', 0));
    const first = await take(client, 'late-end');
    await other.query('begin');
    await complete(other, leaseOf(first));
    await enqueue(client, 'late-end', gated('k', 1));
    expect(await take(client, 'late-end')).toEqual([]);
    await other.query('commit');
    await sweep(client);
    expect(payloads(await take(client, 'late-end'))).toEqual([1]);
  });

  test('when the one inside ends while the coming of the next is open', async () => {
    const other = await db.connect();
    await enqueue(client, 'late-come', gated('k', 0));
    const first = await take(client, 'late-come');
    await enqueue(client, 'late-come', gated('k', 1));
    await other.query('begin');
    expect(await promote(other)).toBe(1);
    await complete(client, leaseOf(first));
    await other.query('commit');
    await sweep(client);
    expect(payloads(await take(client, 'late-come'))).toEqual([1]);
  });

  test('beside other work that is due', async () => {
    const other = await db.connect();
    await enqueue(client, 'beside', gated('k', 0));
    const first = await take(client, 'beside');
    await enqueue(client, 'beside', gated('k', 1));
    await other.query('begin');
    expect(await promote(other)).toBe(1);
    await complete(client, leaseOf(first));
    await enqueue(client, 'beside', [{ payload: 'delayed', delay_seconds: 0.01 }]);
    await other.query('commit');
    const due = `select count(*) = 1 from tock.waiting where queue = 'beside' and due_at < clock_timestamp()`;
    await until('the delayed task is due', () => value<boolean>(client, due));
    await sweep(client);
    const runs = [
      ...(await claim(client, 'beside', { limit: 5 })),
      ...(await claim(client, 'beside')),
    ];
    expect(payloads(runs).sort()).toEqual([1, 'delayed']);
  });

  test('when an enqueueing committed after later tasks were promoted', async () => {
    const other = await db.connect();
    await other.query('begin');
    await enqueue(other, 'late', gated('late', 'late'));
    const swept = (at: string) =>
      client.query(`update tock.duties set last_started_at = ${at} where name = 'promote'`);
    await swept("now() + interval '1 hour'");
    await enqueue(client, 'late', [...gated('a', 1), ...gated('b', 2), ...gated('c', 3)]);
    expect(payloads(await take(client, 'late')).sort()).toEqual([1, 2, 3]);
    await other.query('commit');
    const { rows: claimed } = await client.query(
      `select c.payload from tock.claim('late', p_alone => true) as c`,
    );
    expect(payloads(claimed)).toEqual(['late']);
    await swept('null');
  });

  test('when what committed late stands below what was let in', async () => {
    const [holder, late] = [await db.connect(), await db.connect()];
    await enqueue(client, 'below', gated('k', 0));
    const first = await take(client, 'below');
    await holder.query("begin; select from tock.gates where queue = 'below' for update");
    await late.query('begin');
    await enqueue(late, 'below', gated('k', -1));
    await promote(late);
    await holder.query('commit');
    await enqueue(client, 'below', gated('k', 1, 5));
    await promote(client);
    await complete(client, leaseOf(first));
    const second = await take(client, 'below');
    expect(payloads(second)).toEqual([1]);
    await late.query('commit');
    await client.query("update tock.turns set looked_at = looked_at - interval '6 s'");
    await complete(client, leaseOf(second));
    expect(payloads(await take(client, 'below'))).toEqual([-1]);
  });
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

describe('whose claim is not committed is inside still, though the task', () => {
  const ways: [string, (id: string) => Promise<unknown>, object?][] = [
    [
      'was cancelled meanwhile',
      (id) => client.query('select tock.cancel(array[$1::bigint])', [id]),
    ],
    [
      'was put off meanwhile',
      (id) =>
        client.query("select tock.reschedule(array[$1::bigint], now() + interval '1 hour')", [id]),
    ],
    [
      'has expired meanwhile',
      () =>
        until('it has expired', () =>
          value<boolean>(
            client,
            `select clock_timestamp() > max((options ->> 'expires_at')::timestamptz) from tock.runs`,
          ),
        ),
      { expires_in_seconds: 0.5 },
    ],
  ];
  test.each(ways)('%s', async (name, change, options = {}) => {
    const queue = name.replaceAll(' ', '-');
    const [id] = await enqueue(client, queue, [...gated('k', 0, 1, options), ...gated('k', 1)]);
    await promote(client);
    const other = await db.connect();
    await other.query('begin');
    const claimed = await claim(other, queue);
    expect(payloads(claimed)).toEqual([0]);
    await change(id as string);
    await sweep(client);
    await sweep(client);
    await other.query('commit');
    expect(await take(client, queue)).toEqual([]);
    expect(await sweep(client)).toBe(0);
    await complete(client, leaseOf(claimed));
    expect(payloads(await take(client, queue))).toEqual([1]);
  });
});

test('a task is inside once, though it comes again while a claim of it is not committed', async () => {
  await setQueue(client, 'twice', { gate_limit: 2 });
  const [id] = await enqueue(client, 'twice', gated('k', 0));
  await promote(client);
  const other = await db.connect();
  await other.query('begin');
  const claimed = await claim(other, 'twice');
  await client.query("select tock.reschedule(array[$1::bigint], now() + interval '1 hour')", [id]);
  await client.query(
    "update tock.waiting set due_at = now() - interval '1 s' where queue = 'twice'",
  );
  await sweep(client);
  await other.query('commit');
  const inside = await value(
    client,
    "select inside from tock.turns where queue = 'twice' order by number desc limit 1",
  );
  expect(inside).toEqual([id]);
  await enqueue(client, 'twice', gated('k', 1, 2));
  expect(payloads(await take(client, 'twice'))).toEqual([1]);
  await complete(client, leaseOf(claimed));
  expect(payloads(await take(client, 'twice'))).toEqual([2]);
});

test('settings left open in a transaction hold up no promotion', async () => {
  const other = await db.connect();
  await other.query("begin; select tock.put_gate('open', 'new', '{}')");
  await enqueue(client, 'open', gated('new'));
  await client.query("set lock_timeout = '5s'");
  expect(await promote(client)).toBe(1);
  await other.query('commit');
  await sweep(client);
  expect(payloads(await take(client, 'open'))).toEqual([0]);
});

test('a long line that has expired is sent on in parts', async () => {
  await enqueue(client, 'stale', gated('k', 0));
  const first = await take(client, 'stale');
  await enqueue(client, 'stale', [
    ...gated('k', 1, 3000, { expires_in_seconds: 3600 }),
    ...gated('k', 'fresh'),
  ]);
  while ((await sweep(client)) > 0);
  await client.query(`update tock.waiting set options = options
    || jsonb_build_object('expires_at', now() - interval '1 s') where queue = 'stale' and options ? 'expires_at'`);
  await complete(client, leaseOf(first));
  const left = () =>
    value<number>(
      client,
      `select count(*)::int from tock.waiting where queue = 'stale' and ticket is not null`,
    );
  expect(await left()).toBeGreaterThan(1900);
  for (let n = 0; n < 3; n++) await sweep(client);
  expect(await left()).toBe(0);
  const seen = [];
  for (let n = 0; n < 40 && seen.length === 0; n++)
    seen.push(...payloads(await take(client, 'stale')));
  expect(seen).toEqual(['fresh']);
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

test('a turn costs the same with a long line, many keys and a transaction held open', async () => {
  const other = await db.connect();
  await enqueue(client, 'long', [
    ...gated('long', 0, 20_000),
    ...Array.from({ length: 500 }, (_, n) => ({ gate: `key ${n}` })),
  ]);
  while ((await sweep(client)) > 0);
  await client.query('vacuum analyze tock.waiting, tock.turns, tock.gates');
  const turn = async (gate: string) => {
    const explain = `explain (analyze, buffers, format json) select tock.open_gates(array['long'], array[$1])`;
    const plan = await value<{ Plan: Record<string, number> }[]>(client, explain, [gate]);
    return (plan[0]?.Plan['Shared Hit Blocks'] ?? 0) + (plan[0]?.Plan['Shared Read Blocks'] ?? 0);
  };
  /** The one inside is gone, and the next comes in. */
  const pages = async (gate: string) => {
    await client.query(
      `insert into tock.turns (number, last_ticket, looked_at, queue, gate, inside)
       select number + 1, last_ticket, looked_at, queue, gate, '{}' from tock.turns
       where queue = 'long' and gate = $1 order by number desc limit 1`,
      [gate],
    );
    return turn(gate);
  };
  const middle = async (gate: string) => {
    const counts = [];
    for (let n = 0; n < 9; n++) counts.push(await pages(gate));
    return counts.sort((a, b) => a - b)[4] as number;
  };
  await enqueue(client, 'long', gated('short', 0, 20));
  await sweep(client);
  const few = await middle('short');
  expect(await middle('long')).toBeLessThan(few * 1.5);
  await other.query('begin isolation level repeatable read');
  await other.query('select count(*) from tock.waiting');
  for (let n = 0; n < 300; n++) await pages('long');
  expect(await middle('long')).toBeLessThan(few * 1.5);
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

test('whatever eight workers do, no more than its limit of a key ever run, and all come to an end', async () => {
  const limits: Record<string, number> = { a: 1, b: 1, c: 3, d: 2, e: 1 };
  await setQueue(client, 'hammered', {
    backoff_base_seconds: 0,
    max_attempts: 1000,
    max_lost: 1000,
  });
  for (const [gate, limit] of Object.entries(limits)) {
    await client.query('select tock.put_gate($1, $2, $3)', [
      'hammered',
      gate,
      { gate_limit: limit },
    ]);
  }
  const running: Record<string, number> = {};
  const done = new Set<string>();
  const total = 200;
  let accepted = 0;
  const worker = async (n: number) => {
    const on = await db.connect();
    const random = (below: number) => Math.floor(Math.random() * below);
    while (done.size < total) {
      if (n < 4 && accepted < total) {
        const count = Math.min(1 + random(5), total - accepted);
        accepted += count;
        const gates = Object.keys(limits);
        const tasks = Array.from({ length: count }, () => ({ gate: gates[random(5)] as string }));
        await enqueue(
          on,
          'hammered',
          tasks.map((one) => ({ ...one, payload: one.gate })),
        );
      }
      if (random(4) === 0) await sweep(on);
      const runs = await take(on, 'hammered', 1 + random(6));
      for (const { payload } of runs) {
        const gate = payload as string;
        running[gate] = (running[gate] ?? 0) + 1;
        if (running[gate] > (limits[gate] as number)) throw new Error(`${gate} is overrun`);
      }
      if (runs.length === 0) continue;
      const lease = leaseOf(runs);
      if (random(3) === 0) await new Promise((resolve) => setTimeout(resolve, random(20)));
      for (const { payload } of runs) (running[payload as string] as number)--;
      const way = random(5);
      if (way === 0) await fail(on, lease);
      else if (way === 1) await release(on, lease);
      else if (way === 2) {
        await expire(on, lease);
        await reap(on);
      } else {
        await complete(on, lease);
        for (const { id } of runs) done.add(id);
      }
    }
    await on.end();
  };
  await Promise.all(Array.from({ length: 8 }, (_, n) => worker(n)));
  expect(done.size).toBe(total);
  await expectWhole(client);
});
