import { expect, test } from 'vitest';
import { expectInvariants } from '../../invariants.ts';
import {
  closeSegments,
  createSegments,
  endSegment,
  expectDropped,
  moveNearSegmentEnd,
  segmentNumbers,
} from '../../kernel/segment/segments.ts';
import { client, databasePerTest } from '../../test_database.ts';
import {
  claim,
  complete,
  drain,
  enqueue,
  fail,
  leaseOf,
  numberedTasks,
  refusal,
  row,
  rows,
  task,
  value,
} from '../../verbs.ts';

databasePerTest();

const SIZE = 2n ** 33n;

const found = (range: number) =>
  value<string>(client, 'select tock.found_range($1)', [range]).then(Number);

const rangesOf = (ids: string[]) => [...new Set(ids.map((id) => Number(BigInt(id) >> 53n)))];

/** A token ends with the number of its segment, in 28 bits. */
const rangeOfLease = (lease: string) => Number.parseInt(lease.slice(-7), 16) >> 18;

/** Sets the next position to `left` before the end of a range. */
const moveNearRangeEnd = (range: number, left: number) =>
  client.query("select setval('tock.positions', $1)", [
    ((BigInt(range) + 1n) * SIZE - BigInt(left)).toString(),
  ]);

/** Makes the widest segments up to the end of the range. */
const fillRange = () => createSegments(client, 'p_ahead => 11, p_width => 1073741824');

/** Makes all segments so far nine days old. */
const makeOld = () =>
  client.query(
    `update tock.segments e set made_at = now() - interval '9 days',
       started_at = case when e.first_position <= (select last_value from tock.positions)
         then now() - interval '9 days' end`,
  );

test('each id and lease of a founded database names its range', async () => {
  expect(await found(9)).toBe(Number(SIZE) - 1);
  const ids = [
    ...(await enqueue(client, 'q', [{}])),
    ...(await enqueue(client, 'q', numberedTasks(3))),
    ...(await enqueue(client, 'q', [{ delay_seconds: 0.001 }, { concurrency_key: 'k' }])),
  ];
  await client.query('select tock.promote()');
  const [one] = await claim(client, 'q');
  const rest = (await drain(client, 'q', { limit: 2 })).flat();
  expect(rest).toHaveLength(ids.length - 1);
  const runs = [one as NonNullable<typeof one>, ...rest];
  expect(rangesOf([...ids, ...runs.map((run) => run.run_id)])).toEqual([9]);
  expect([...new Set(runs.map((run) => rangeOfLease(run.lease)))]).toEqual([9]);
  expect(await fail(client, leaseOf(runs), {})).toMatchObject({ failed: 1 });
  for (const lease of new Set(rest.map((run) => run.lease)))
    expect((await complete(client, lease))?.completed).toBeGreaterThan(0);
  expect((await task(client, one?.id as string))?.state).toBe('waiting');
  await expectInvariants(client);
});

test('the segments of before the founding are dropped, and those of the range remain', async () => {
  await found(9);
  await enqueue(client, 'q', numberedTasks(2));
  expect(await segmentNumbers(client)).toEqual([1, 2, 3, ...[0, 1, 2].map((n) => 9 * 2 ** 18 + n)]);
  await expectDropped(client, 1, 2, 3);
  const claims = await drain(client, 'q');
  expect(claims.flat()).toHaveLength(2);
  for (const runs of claims) await complete(client, leaseOf(runs));
  await endSegment(client);
  await expectDropped(client, 9 * 2 ** 18);
});

test('a database without a range goes on from one range to the next', async () => {
  await moveNearRangeEnd(0, 700);
  await fillRange();
  const ids = await enqueue(client, 'q', numberedTasks(600));
  await enqueue(client, 'q', numberedTasks(600));
  expect(rangesOf(ids)).toEqual([0]);
  await createSegments(client);
  const claims = await drain(client, 'q', { limit: 500 });
  const runs = claims.flat();
  expect(runs.map((run) => Number(run.payload))).toHaveLength(1200);
  expect(rangesOf(runs.map((run) => run.id))).toEqual([0, 1]);
  for (const run of runs) expect(rangesOf([run.id])).toEqual([rangeOfLease(run.lease)]);
  const border = await rows(
    client,
    'select number from tock.segments where first_position < $1 and end_position > $1',
    [SIZE.toString()],
  );
  expect(border).toEqual([]);
  await expectInvariants(client);
});

test('at the end of its range a database refuses tasks until it gets a further range', async () => {
  await found(2);
  const before = await enqueue(client, 'q', numberedTasks(2));
  const lease = leaseOf(await claim(client, 'q'));
  await moveNearRangeEnd(2, 150_000);
  await fillRange();
  expect(await refusal(enqueue(client, 'q', [{}]))).toMatchObject({
    code: 'TK503',
    message: 'this database has used up its range of ids',
    hint: 'give it a further one: tock nodes found RANGE',
  });
  const last = await row<{ number: number; end_position: string }>(
    client,
    'select number, end_position from tock.segments order by number desc limit 1',
  );
  expect(last.number >> 18).toBe(2);
  expect(last.end_position).toBe((3n * SIZE).toString());
  expect(await complete(client, lease)).toMatchObject({ completed: 1 });
  expect(await refusal(found(1))).toMatchObject({ code: 'TK409', detail: 'range' });
  await found(5);
  const after = await enqueue(client, 'q', [{}]);
  expect([rangesOf(before), rangesOf(after)]).toEqual([[2], [5]]);
  const left = (await drain(client, 'q')).flat().map((run) => run.id);
  expect(left).toEqual([before[1], ...after]);
  expect((await task(client, before[0] as string))?.state).toBe('done');
  await closeSegments(client);
  await expectInvariants(client);
});

test('an old segment is ended by a jump, but not the last one of the range', async () => {
  await found(0);
  await enqueue(client, 'q', [{}]);
  await fillRange();
  await makeOld();
  await client.query('select tock.create_segments()');
  const at = 'select last_value from tock.positions';
  expect(Number(await value(client, at))).toBeGreaterThan(1_000_000);
  await moveNearSegmentEnd(client, 0);
  await moveNearRangeEnd(0, 2_000_000);
  await makeOld();
  const before = await value(client, at);
  await client.query('select tock.create_segments()');
  expect(await value(client, at)).toBe(before);
});

test('a segment after a jump is half as wide as the last one', async () => {
  await createSegments(client, 'p_ahead => 3, p_width => 67108864');
  const widths = [];
  for (let jump = 0; jump < 4; jump++) {
    await makeOld();
    // The first call makes the sequence jump, and the second makes the segment that is then missing.
    for (const _ of [1, 2]) {
      await enqueue(client, 'q', numberedTasks(2));
      await createSegments(client, 'p_ahead => 3');
    }
    const last = `select (end_position - first_position)::int from tock.segments
      order by number desc limit 1`;
    widths.push((await value<number>(client, last)) / 2 ** 20);
  }
  expect(widths).toEqual([32, 16, 16, 16]);
});

test('tasks bind a database to the range that it is in', async () => {
  await enqueue(client, 'q', [{ delay_seconds: 60 }]);
  expect(await refusal(found(3))).toMatchObject({
    code: 'TK409',
    message: 'this database has tasks, and their ids are in range 0',
    hint: 'give it range 0, or found range 3 in a database without tasks',
  });
  await found(0);
  expect(await found(0)).toBeLessThan(Number(SIZE));
  for (const range of [-1, 1024, null])
    expect(await refusal(value(client, 'select tock.found_range($1)', [range]))).toMatchObject({
      code: 'TK422',
      detail: 'range',
    });
});

test('the doctor says when a range is nearly used up, and not that a segment is missing', async () => {
  await found(1023);
  const findings = () =>
    rows<{ finding: string; severity: string }>(
      client,
      `select finding, severity, detail from tock.doctor_of_positions()
       union all select finding, severity, detail from tock.doctor_of_range()`,
    );
  expect(await findings()).toEqual([]);
  await fillRange();
  const [tenth, hundredth] = [858_993_459, 85_899_345];
  for (const [left, severity] of [
    [tenth, 'warning'],
    [hundredth, 'critical'],
  ] as const) {
    await moveNearRangeEnd(1023, left + 1);
    expect(await findings()).toEqual([
      {
        finding: 'a range of ids is nearly used up',
        severity,
        detail: `${left} positions are left in range 1023`,
      },
    ]);
  }
});
