import { beforeAll, expect, test } from 'vitest';
import { badScans, fewestPages, sessionWithPlans } from '../plans.ts';
import { client, databasePerFile, db } from '../test_database.ts';
import { claim, enqueue, numberedTasks, value } from '../verbs.ts';
import { leasesPart, searchPart } from './search.ts';

databasePerFile();

const streams = 2000;

/** Adds runs to the first `of` streams in turn. With `closed` they are in ended leases. */
async function more(count: number, of: number, closed: boolean): Promise<void> {
  const from = await value<string>(client, 'select last_value from tock.positions');
  await client.query(
    `insert into tock.runs (position, stream, created_at, bytes, payload)
     select $1::bigint + n, 1 + n % $3::integer, now(), 1, '1' from generate_series(1, $2::integer) n`,
    [from, count, of],
  );
  if (closed) {
    await client.query(
      `insert into tock.leases (after_position, last_position, token, leased_until, closed_at, stream, runs, worker, outcome)
       select min(r.position) - 1, max(r.position), gen_random_uuid(), now(), now(), r.stream, count(*), 'w', 'done'
       from tock.runs r where r.position > $1 group by r.stream`,
      [from],
    );
  }
  await client.query("select setval('tock.positions', $1::bigint + $2::integer)", [from, count]);
}

/** Calls, and the most pages that each may read with 2,000 streams of any length. */
const calls: [string, number][] = [
  [`tock.tasks('{}')`, 30_000],
  [`tock.tasks('{"queue": "q7"}')`, 12_000],
  [`tock.tasks('{"state": "dead"}')`, 100_000],
  [`tock.tasks('{"queue": "q0", "tenant": "nobody"}')`, 80_000],
  ['tock.running()', 100],
  [`tock.running('q0', 'nobody')`, 100],
  ['tock.queue_stats()', 40_000],
  [`tock.queue_stats('q1')`, 5000],
  [`tock.why('q0')`, 20_000],
];

// The bounds also hold with TOCK_FLAT_RUNS=1000000, which takes a minute.
const many = Number(process.env.TOCK_FLAT_RUNS ?? 40_000);

beforeAll(async () => {
  await client.query("select tock.put_queue('q' || n, '{}') from generate_series(0, 19) n");
  await client.query(
    `insert into tock.streams (number, queue, priority, lane, slot, start_after, awake)
     select 1 + n, 'q' || n % 20, 5, n / 20, 0, 0, true from generate_series(0, $1::integer - 1) n`,
    [streams],
  );
});

test('searches read a bounded number of pages beside history, a backlog and an open transaction', async () => {
  await more(20_000, streams, true);
  await client.query('analyze');
  const holder = await db.connect();
  await holder.query('begin isolation level repeatable read');
  await holder.query('select count(*) from tock.waiting');
  await more(many, streams, true);
  await more(many, streams, false);
  await client.query('select tock.collect_metrics(1000000, 60)');
  expect(await value(client, 'select sum(ready)::int from tock.queue_stats()')).toBe(many);
  for (const [call, most] of calls) {
    const touched = await fewestPages(client, call);
    expect([call, touched, touched < most]).toEqual([call, touched, true]);
  }
  await holder.query('rollback');
});

test('one stream that is busier than two thousand others is read in few steps', async () => {
  await more(10_000, streams, true);
  await more(20_000, 1, true);
  let cursor: string | null = null;
  for (let n = 0; n < 6; n++) {
    const part = await searchPart(client, { worker: 'nobody' }, cursor);
    expect(part.scanned).toBeLessThan(12_000);
    cursor = part.cursor;
  }
  const last = BigInt(await value<string>(client, 'select last_value from tock.positions'));
  expect(Number(last - BigInt(`0x${cursor}`))).toBeGreaterThan(20_000);
  // The listed positions must have no gap, also where the other streams begin.
  const positions: number[] = [];
  cursor = (last - 19_000n).toString(16).padStart(12, '0');
  for (let n = 0; n < 4; n++) {
    const part = await searchPart(client, {}, cursor, 1000);
    positions.push(...part.tasks.map(({ run_id }) => Number(BigInt(run_id) >> 20n)));
    cursor = part.cursor;
  }
  expect(positions.length).toBeGreaterThan(3000);
  expect(
    positions.find((place, n) => n > 0 && place !== (positions[n - 1] ?? 0) - 1),
  ).toBeUndefined();
});

test('no search scans a table', async () => {
  await enqueue(client, 'q3', numberedTasks(3, 0, { delay_seconds: 100, concurrency_key: 'g' }));
  const on = await sessionWithPlans(db, [], 'auto');
  const bad = await badScans(
    on,
    async () => {
      await searchPart(on, {});
      for (const filter of [
        { state: 'running' },
        { concurrency_key: 'g' },
        { unique_key: 'g' },
        { waiting_for: 'dependency' },
        { concurrency_key: 'g', waiting_for: 'concurrency_key' },
        { payload: { customer: 7 } },
      ])
        await searchPart(on, { queue: 'q3', ...filter });
      await claim(on, 'q3', { limit: 5 });
      await leasesPart(on, { queue: 'q3' });
      await on.query("select * from tock.queue_stats('q3')");
      await on.query("select * from tock.why('q3')");
    },
    { tables: /^(runs|leases|results|run_overrides)_|^waiting$/, most: 7000, least: 20 },
  );
  expect(bad).toEqual([]);
});
