import { beforeEach, expect, test } from 'vitest';
import { expectInvariants } from '../invariants.ts';
import { change } from '../kernel/change/changes.ts';
import {
  ageClosedSegments,
  closeSegments,
  dropExpiredSegments,
  segmentNumbers,
  startNextSegment,
} from '../kernel/segment/segments.ts';
import { client, databasePerTest } from '../test_database.ts';
import {
  claim,
  complete,
  enqueue,
  expire,
  extendWithProgress,
  fail,
  makeDue,
  promote,
  type Run,
  reap,
  release,
  rows,
  type TaskRow,
  task,
} from '../verbs.ts';

databasePerTest();

beforeEach(async () => {
  await client.query(
    `select tock.put_queue('q', '{"max_attempts": 1000, "max_lost": 1000, "backoff_jitter": 0}')`,
  );
});

/** How task() must show a run. worker is null if the run was never claimed. */
type Attempt = Pick<
  TaskRow['runs'][number],
  'id' | 'attempt' | 'state' | 'worker' | 'progress' | 'note' | 'error'
>;

type Chain = { id: string; attempt: number; attempts: Attempt[] };

const look = async (id: string) => (await task(client, id)) as TaskRow;

/** Claims the task's next run with a new worker. */
async function next(chain: Chain): Promise<Run> {
  await makeDue(client, 'q');
  await promote(client);
  const [run] = await claim(client, 'q', { worker: `w${chain.attempts.length}` });
  expect(run?.id).toBe(chain.id);
  return run as Run;
}

/** Makes one attempt that ends in the given way, and adds how it must be shown. */
async function attempt(chain: Chain, how: string): Promise<void> {
  const { attempts } = chain;
  const plain = { progress: null, note: null, error: null };
  if (how === 'changed') {
    // The task is changed while it is ready: its run is never claimed, and another replaces it.
    await makeDue(client, 'q');
    await promote(client);
    const newest =
      'select position << 20 | stream as id from tock.runs order by position desc limit 1';
    const current = (await rows<{ id: string }>(client, newest))[0]?.id as string;
    await change(client, [chain.id], { priority: attempts.length % 10 });
    const { attempt } = chain;
    attempts.push({ id: current, attempt, state: 'superseded', worker: null, ...plain });
    return;
  }
  const run = await next(chain);
  const expectedRun: Attempt = {
    id: run.run_id,
    attempt: chain.attempt,
    state: how,
    worker: `w${attempts.length}`,
    ...plain,
  };
  expect(run.attempt).toBe(chain.attempt);
  if (attempts.length % 3 === 0) {
    const report = { progress: attempts.length % 101, note: `step ${attempts.length}` };
    Object.assign(expectedRun, report);
    await extendWithProgress(client, run.lease, report);
  }
  if (how === 'failed') {
    expectedRun.error = { name: 'E', message: `no ${attempts.length}` };
    const delay = attempts.length % 2 ? { retry_in_seconds: 0 } : {};
    await fail(client, run.lease, { error: expectedRun.error, ...delay });
    chain.attempt++;
  } else if (how === 'lost') {
    expectedRun.error = { name: 'LeaseExpired' };
    await expire(client, run.lease);
    expect(await reap(client)).toBe(1);
    chain.attempt++;
  } else if (how === 'superseded') {
    await release(client, run.lease);
  } else {
    await complete(client, run.lease);
  }
  attempts.push(expectedRun);
}

async function begin(options: object = {}): Promise<Chain> {
  const [id] = (await enqueue(client, 'q', [options])) as [string];
  return { id, attempt: 1, attempts: [] };
}

/** Expects the shown runs to be those that happened, in their order and with increasing times. */
function expectAttempts(row: TaskRow, attempts: Attempt[]): void {
  const { runs } = row;
  expect(runs).toHaveLength(attempts.length);
  expect(runs).toMatchObject(
    attempts.map(({ error, ...rest }) => (error ? { ...rest, error } : rest)),
  );
  let before = '';
  for (const { started_at, ended_at, leased_until, worker } of runs) {
    expect(ended_at).not.toBeNull();
    expect([started_at === null, leased_until === null]).toEqual([!worker, !worker]);
    for (const at of [started_at, ended_at]) {
      if (at === null) continue;
      expect(at >= before).toBe(true);
      before = at;
    }
  }
}

const ways = ['failed', 'lost', 'changed', 'superseded', 'failed', 'changed', 'lost', 'failed'];

test('100 attempts over many segments are listed one by one, in order', async () => {
  const chain = await begin({ delay_seconds: 100 });
  for (let n = 0; n < 99; n++) {
    await attempt(chain, ways[n % ways.length] as string);
    if (n % 9 === 8) await startNextSegment(client);
  }
  await attempt(chain, 'done');
  const row = await look(chain.id);
  expect(row).toMatchObject({ id: chain.id, state: 'done', attempt: chain.attempt });
  expectAttempts(row, chain.attempts);
  expect(chain.attempt).toBeGreaterThan(60);
  const counted = (state: string) =>
    chain.attempts.filter((expectedRun) => expectedRun.state === state).length;
  expect(row.lost).toBe(counted('lost'));
  expect((await segmentNumbers(client)).length).toBeGreaterThan(10);
  // Each id of its runs shows the same task.
  for (const n of [0, 1, 28, 60, 99]) {
    expect(await look(chain.attempts[n]?.id as string)).toEqual(row);
  }
  await expectInvariants(client);
});

test('a task whose first segments are dropped lists its other attempts, by each of its ids', async () => {
  const chain = await begin();
  for (let segment = 0; segment < 3; segment++) {
    for (const how of ['failed', 'superseded', 'lost']) await attempt(chain, how);
    await startNextSegment(client);
  }
  await attempt(chain, 'failed');
  await makeDue(client, 'q');
  await promote(client);
  const drop = async (number: number) => {
    await closeSegments(client);
    await ageClosedSegments(client, '1 second');
    await client.query(
      'update tock.segments set closed_at = closed_at - interval $$8 days$$ where number <= $1',
      [number],
    );
    await dropExpiredSegments(client);
    expect(await segmentNumbers(client)).not.toContain(number);
  };
  // A lost run is retried at once, so the fourth run lies in the segment of the first three.
  for (const [dropped, rest] of [
    [1, 4],
    [2, 7],
  ] as const) {
    await drop(dropped);
    expect((await segmentNumbers(client))[0]).toBe(dropped + 1);
    const left = chain.attempts.slice(rest);
    for (const { id } of chain.attempts) {
      const row = await look(id);
      expect(row, id).toMatchObject({ id: chain.id, state: 'ready', attempt: chain.attempt });
      const last = row.runs.pop();
      expect(last).toMatchObject({ state: 'ready', attempt: chain.attempt });
      expectAttempts(row, left);
    }
  }
  await attempt(chain, 'done');
  for (const { id } of chain.attempts) expectAttempts(await look(id), chain.attempts.slice(7));
  const reports = "select from tock.reports where kind = 'verify_segments'";
  expect(await rows(client, reports)).toEqual([]);
});
