import { expect, test } from 'vitest';
import { conditionTimeout } from '../../../timeout.ts';
import { client, databasePerTest, db } from '../../test_database.ts';
import {
  claim,
  complete,
  drain,
  enqueue,
  fail,
  leaseOf,
  numberedTasks,
  refusal,
  rows,
  value,
} from '../../verbs.ts';
import { begin, invariantsAfterEach } from '../sessions.ts';
import { moveNearSegmentEnd, startNextSegment } from './segments.ts';

databasePerTest();
invariantsAfterEach();

const segmentOf = (id: string) =>
  value<number>(client, 'select tock.segment_of($1::bigint >> 20)', [id]);

test('claims continue over the boundary of a segment, and skip nothing', async () => {
  await moveNearSegmentEnd(client, 10);
  const ids = await enqueue(client, 'edge', numberedTasks(30));
  expect([await segmentOf(ids[0] as string), await segmentOf(ids[29] as string)]).toEqual([1, 2]);
  const claims = await drain(client, 'edge', { limit: 7 });
  expect(claims.flat().map((run) => run.id)).toEqual(ids);
  for (const runs of claims)
    expect(await complete(client, leaseOf(runs))).toMatchObject({ completed: runs.length });
});

test('streams whose cursors lie in different segments are all leased from', async () => {
  for (let priority = 0; priority < 3; priority++) {
    await enqueue(client, 'spread', numberedTasks(10, priority * 10, { priority }));
    await client.query('select tock.create_segments()');
    await moveNearSegmentEnd(client, 5 - priority);
  }
  await enqueue(client, 'spread', numberedTasks(10, 30, { priority: 1 }));
  const claims = await drain(client, 'spread', { limit: 9 });
  // A token names one segment. A lease with runs of two could be completed only in part.
  for (const runs of claims)
    expect(await complete(client, leaseOf(runs))).toMatchObject({ completed: runs.length });
  const runs = claims.flat();
  const payloads = runs.map((run) => Number(run.payload)).sort((a, b) => a - b);
  expect(payloads).toEqual(Array.from({ length: 40 }, (_, n) => n));
});

test('a claim that begins in an old segment leaves the current one to the next claim', async () => {
  await enqueue(client, 'q', numberedTasks(3, 0, { priority: 0 }));
  await startNextSegment(client);
  await enqueue(client, 'q', numberedTasks(3, 3, { priority: 9 }));
  for (const payloads of [
    [0, 1, 2],
    [3, 4, 5],
  ]) {
    const runs = await claim(client, 'q', { limit: 10 });
    expect(runs.map((run) => run.payload)).toEqual(payloads);
    expect(await complete(client, leaseOf(runs))).toMatchObject({ completed: 3 });
  }
});

test('a queue without claims for three segments is claimed from its oldest run on', async () => {
  const old = await enqueue(client, 'old', numberedTasks(20));
  expect(await claim(client, 'old', { limit: 5 })).toHaveLength(5);
  for (let segment = 0; segment < 3; segment++) {
    await moveNearSegmentEnd(client, 2);
    await enqueue(client, 'busy', numberedTasks(6));
    await client.query('select tock.create_segments()');
    await drain(client, 'busy');
    await client.query('select tock.deactivate_streams()');
  }
  const runs = (await drain(client, 'old', { limit: 4 })).flat();
  expect(runs.map((run) => run.id)).toEqual(old.slice(5));
  const fresh = await enqueue(client, 'old', numberedTasks(3));
  expect((await claim(client, 'old', { limit: 9 })).map((run) => run.id)).toEqual(fresh);
});

test('segments are created ahead, each with its indexes, and none twice', async () => {
  expect(await value(client, 'select tock.create_segments()')).toBe(0);
  await moveNearSegmentEnd(client, 1);
  await enqueue(client, 'next', numberedTasks(5));
  expect(await value(client, 'select tock.create_segments(p_width => 1000)')).toBe(1);
  expect(await value(client, 'select tock.create_segments()')).toBe(0);
  const last = `select number, (end_position - first_position)::int as width
    from tock.segments order by number desc limit 1`;
  expect(await rows(client, last)).toEqual([{ number: 4, width: 1000 }]);
});

test('segments are created ahead beside an open reader', async () => {
  const reader = await begin();
  for (const table of ['runs', 'leases', 'results'])
    await reader.query(`select count(*) from tock.${table}`);
  const writer = await begin();
  await enqueue(writer, 'held', numberedTasks(2));
  await moveNearSegmentEnd(client, 1);
  await enqueue(client, 'beside', numberedTasks(4));
  expect(await value(client, "select tock.run_maintenance('create_segments')")).toBe(1);
  const error = "select last_error from tock.maintenance_jobs where name = 'create_segments'";
  expect(await value(client, error)).toBeNull();
  await reader.query('commit');
  await writer.query('commit');
  expect((await drain(client, 'held')).flat()).toHaveLength(2);
});

test('all other calls proceed while segments are created in an open transaction', async () => {
  const [reader, maker] = [await db.connect(), await db.connect()];
  await reader.query('begin isolation level repeatable read');
  await reader.query('select count(*) from tock.runs');
  await moveNearSegmentEnd(client, 2);
  await maker.query('begin');
  expect(await value(maker, 'select tock.create_segments(p_ahead => 5)')).toBe(3);
  await client.query(`set lock_timeout = ${conditionTimeout}`);
  const ids = await enqueue(client, 'q', numberedTasks(6));
  const claims = await drain(client, 'q', { limit: 4 });
  expect(claims.flat().map((run) => run.id)).toEqual(ids);
  for (const runs of claims) await complete(client, leaseOf(runs), [{ id: runs[0]?.id }]);
  await fail(client, leaseOf(claims.at(-1) ?? []), { retry_in_seconds: 0 });
  await reader.query('select count(*) from tock.leases');
  await maker.query('commit');
  await reader.query('commit');
  await drain(client, 'q');
});

/** Sets the next position to `left` before the end of the last segment. */
const lastEnd = "select setval('tock.positions', max(end_position) - $1) from tock.segments";
const nearTheLastEnd = (left: number) => value(client, lastEnd, [left]);

test('only one transaction creates segments, and tasks at the end of the last get an error', async () => {
  const [maker, old] = [await db.connect(), await db.connect()];
  await old.query('begin isolation level repeatable read');
  await old.query('select count(*) from tock.segments');
  await nearTheLastEnd(5000);
  await maker.query('begin');
  expect(await value(maker, 'select tock.create_segments(p_ahead => 3)')).toBe(3);
  expect(await value(client, 'select tock.create_segments(p_ahead => 5)')).toBe(0);
  const late = await refusal(enqueue(client, 'late', numberedTasks(60)));
  expect(late.code).toBe('TK503');
  await maker.query('commit');
  // Its snapshot does not show the new segments.
  const made = refusal(old.query('select tock.create_segments(p_ahead => 9)'));
  expect(await made).toMatchObject({ code: '40001' });
  const ids = await enqueue(client, 'late', numberedTasks(60));
  expect(await value(client, 'select tock.create_segments(p_ahead => 5)')).toBe(2);
  expect((await drain(client, 'late')).flat().map((run) => run.id)).toEqual(ids);
});

test('a lock that the creation of segments needs is a TK503', async () => {
  await nearTheLastEnd(5000);
  const other = await db.connect();
  await other.query('begin; lock table tock.runs in share update exclusive mode');
  const refused = await refusal(client.query('select tock.create_segments()'));
  expect(refused.code).toBe('TK503');
  await other.query('commit');
  expect(await value(client, 'select tock.create_segments()')).toBe(2);
});

test('segments that several sessions create concurrently exist once, and a caller that cannot wait gets TK503', async () => {
  const clients = await Promise.all(Array.from({ length: 8 }, () => db.connect()));
  for (let round = 1; round <= 4; round++) {
    await nearTheLastEnd(40);
    const answers = await Promise.allSettled(
      clients.map((connection, n) =>
        n % 2
          ? enqueue(connection, 'late', numberedTasks(4))
          : connection.query('select tock.create_segments()'),
      ),
    );
    const refused = answers.flatMap((answer) =>
      answer.status === 'rejected' ? [answer.reason.code] : [],
    );
    expect(refused.filter((code) => code !== 'TK503')).toEqual([]);
    await client.query('select tock.create_segments()');
  }
  await drain(client, 'late');
});

test('every position in use has a segment while many small segments pass under load', async () => {
  // The new segments have 800 positions, so writers and claimers cross a boundary every few dozen calls.
  await moveNearSegmentEnd(client, 300);
  await enqueue(client, 'tiny', numberedTasks(1));
  await nearTheLastEnd(300);
  await client.query('select tock.create_segments(p_ahead => 12, p_width => 800)');
  const clients = await Promise.all(Array.from({ length: 6 }, () => db.connect()));
  let writing = true;
  const seen: string[] = [];
  const claimers = clients.slice(3).map(async (connection, n) => {
    for (;;) {
      const last = !writing;
      const runs = await claim(connection, 'tiny', { limit: [1, 7, 50][n] as number });
      seen.push(...runs.map((run) => run.id));
      if (runs.length > 0) await complete(connection, leaseOf(runs));
      else if (last) return;
    }
  });
  const ids = await Promise.all(
    clients.slice(0, 3).map(async (connection, n) => {
      const enqueued: string[] = [];
      for (let call = 0; call < 130; call++) {
        const tasks = numberedTasks(call % 40, 0, { priority: n });
        enqueued.push(...(await enqueue(connection, 'tiny', tasks)));
        if (call % 20 === 0) await connection.query('select tock.deactivate_streams()');
      }
      return enqueued;
    }),
  );
  writing = false;
  await Promise.all(claimers);
  seen.push(...(await drain(client, 'tiny')).flat().map((run) => run.id));
  expect(seen).toHaveLength(new Set(seen).size);
  expect(new Set(seen).size).toBe(ids.flat().length + 1);
  const reached = 'select tock.segment_of(last_value) from tock.positions';
  expect(await value<number>(client, reached)).toBeGreaterThan(8);
});
