import { beforeEach, expect, test } from 'vitest';
import { expectWhole } from './audit.ts';
import { setQueue, take } from './gates.ts';
import { pass } from './history.ts';
import { client, databaseEach, db } from './own.ts';
import {
  blocked,
  claim,
  complete,
  enqueue,
  expire,
  fail,
  leaseOf,
  makeDue,
  pidOf,
  promote,
  type Run,
  reap,
  refusal,
  release,
  rows,
  type TaskRow,
  task,
  value,
} from './support.ts';

databaseEach();

const stages = ['fetch', 'parse', 'index'];

beforeEach(async () => {
  await setQueue(client, '*', { backoff_jitter: 0, backoff_base_seconds: 60 });
});

const add = async (options: object = {}, queue = 'fetch') =>
  (await enqueue(client, queue, [{ payload: 'begun', pipeline: stages, ...options }]))[0] as string;

const look = async (id: string) => (await task(client, id)) as TaskRow;

async function next(queue: string): Promise<Run> {
  const [run] = await claim(client, queue, { worker: `w of ${queue}` });
  expect(run, `something in ${queue}`).toBeDefined();
  return run as Run;
}

/** Completes one run of the task, with a result and a stage if those are given. */
const done = (run: Run, said: object = {}) =>
  complete(client, run.lease, [{ id: run.id, ...said }]);

test('a task goes through its stages, each result the next payload, under one id', async () => {
  const id = await add({ tenant: 'a', priority: 3 });
  for (const [n, queue] of stages.entries()) {
    const run = await next(queue);
    expect(run).toMatchObject({
      id,
      attempt: 1,
      payload: n === 0 ? 'begun' : { of: n - 1 },
      tenant: 'a',
      priority: 3,
    });
    expect(await done(run, { result: { of: n } })).toEqual({ completed: 1, refused: [] });
    expect(await look(id)).toMatchObject({ queue: stages[Math.min(n + 1, 2)] });
  }
  const found = await look(id);
  expect(found).toMatchObject({
    id,
    queue: 'index',
    state: 'done',
    result: { of: 2 },
    options: { pipeline: stages },
  });
  expect(Object.keys(found.options ?? {})).toEqual(['pipeline']);
  expect(found.runs).toMatchObject(
    stages.map((queue, n) => ({
      queue,
      state: 'done',
      result: { of: n },
      worker: `w of ${queue}`,
      attempt: 1,
    })),
  );
  for (const { id: run } of found.runs) expect(await look(run)).toEqual(found);
  await expectWhole(client);
});

test('without a result the payload goes on as it is, and a result of null is none', async () => {
  const id = await add();
  await done(await next('fetch'));
  await done(await next('parse'), { result: null });
  expect(await next('index')).toMatchObject({ id, payload: 'begun' });
});

test('a whole lease is completed without results: what has a pipeline goes on, the others end', async () => {
  const [a, b] = (await enqueue(client, 'fetch', [
    { payload: 1, pipeline: stages },
    { payload: 2, expires_in_seconds: 3600 },
    { payload: 3, pipeline: ['parse', 'fetch'] },
  ])) as [string, string];
  const runs = await claim(client, 'fetch', { limit: 10 });
  expect(runs).toHaveLength(3);
  for (let again = 0; again < 2; again++) {
    expect(await complete(client, leaseOf(runs))).toEqual({ completed: 3, refused: [] });
  }
  expect(await look(a)).toMatchObject({ state: 'ready', queue: 'parse' });
  expect(await look(b)).toMatchObject({ state: 'done', queue: 'fetch' });
  expect(await claim(client, 'parse', { limit: 10 })).toHaveLength(1);
  expect(
    await value(client, 'select count(*)::integer from tock.leases where closed_at is null'),
  ).toBe(1);
  await expectWhole(client);
});

test('a whole lease of an earlier epoch moves its tasks on, too', async () => {
  const id = await add();
  const run = await next('fetch');
  await pass(client);
  expect(await complete(client, run.lease)).toEqual({ completed: 1, refused: [] });
  expect(await complete(client, run.lease)).toEqual({ completed: 1, refused: [] });
  const parse = await next('parse');
  await pass(client);
  await done(parse, { result: 'parsed' });
  await pass(client);
  const index = await next('index');
  expect(index).toMatchObject({ id, payload: 'parsed' });
  await complete(client, index.lease);
  expect((await look(id)).runs.map(({ queue }) => queue)).toEqual(stages);
  expect(await look(id)).toMatchObject({ state: 'done' });
  await expectWhole(client);
});

test('of a lease a part of which has ended the rest is completed, and all count', async () => {
  const ids = await enqueue(
    client,
    'fetch',
    Array.from({ length: 4 }, (_, n) => ({ payload: n, pipeline: stages })),
  );
  const runs = await claim(client, 'fetch', { limit: 4 });
  const lease = leaseOf(runs);
  await complete(client, lease, [{ id: ids[0], stage: 'index', result: 'skipped' }]);
  await fail(client, lease, [{ id: ids[1], fatal: true }]);
  for (let again = 0; again < 2; again++) {
    expect(await complete(client, lease)).toEqual({ completed: 3, refused: [] });
  }
  for (const [n, queue] of ['index', 'fetch', 'parse', 'parse'].entries()) {
    expect(await look(ids[n] as string)).toMatchObject({ queue });
  }
});

test('a lease that the reaper took back moves nothing', async () => {
  const id = await add();
  const run = await next('fetch');
  await expire(client, run.lease);
  expect(await reap(client)).toBe(1);
  expect(await complete(client, run.lease)).toBeUndefined();
  expect(await done(run, { result: 1 })).toBeUndefined();
  expect(await look(id)).toMatchObject({ state: 'ready', queue: 'fetch', attempt: 2, lost: 1 });
  await done(await next('fetch'));
  // Attempts and losses are counted by stage.
  expect(await look(id)).toMatchObject({ queue: 'parse', attempt: 1, lost: 0 });
});

test('the lease of a stage before can do nothing to the next', async () => {
  const id = await add();
  const run = await next('fetch');
  await done(run, { result: 1 });
  const parse = await next('parse');
  expect(await done(run, { result: 2 })).toBeUndefined();
  expect(await fail(client, run.lease, [{ id }])).toBeUndefined();
  expect(await look(id)).toMatchObject({ state: 'running', queue: 'parse' });
  expect(await done(parse, { result: 3 })).toEqual({ completed: 1, refused: [] });
});

test('a completion that is made again answers the same, and moves the task once', async () => {
  const id = await add();
  const run = await next('fetch');
  const said = { result: 'x', stage: 'index' };
  for (let again = 0; again < 3; again++) {
    expect(await done(run, said)).toEqual({ completed: 1, refused: [] });
  }
  expect(await done(run, { result: 'x' }), 'the next stage').toBeUndefined();
  expect(await done(run, { result: 'x', stage: null }), 'none').toBeUndefined();
  expect(await done(run, { ...said, result: 'y' })).toBeUndefined();
  const runs = await claim(client, 'index', { limit: 10 });
  expect(runs.map((one) => one.id)).toEqual([id]);
  expect(await claim(client, 'parse', { limit: 10 })).toEqual([]);
  expect(await done(run, said), 'as the next stage runs').toEqual({ completed: 1, refused: [] });
});

test('two who complete one run at the same time move it once', async () => {
  const id = await add();
  const run = await next('fetch');
  const other = await db.connect();
  const pid = await pidOf(other);
  await client.query('begin');
  await done(run, { result: 1 });
  const second = complete(other, run.lease, [{ id, result: 1 }]);
  await blocked(client, pid);
  await client.query('commit');
  expect(await second).toEqual({ completed: 1, refused: [] });
  expect(await claim(client, 'parse', { limit: 10 })).toHaveLength(1);
});

test('what is rolled back has moved nothing, and can be done again', async () => {
  const id = await add();
  const run = await next('fetch');
  await client.query('begin');
  await done(run, { result: 1 });
  expect(await look(id)).toMatchObject({ queue: 'parse', state: 'ready' });
  await client.query('rollback');
  expect(await look(id)).toMatchObject({ queue: 'fetch', state: 'running' });
  await done(run, { result: 2 });
  expect(await next('parse')).toMatchObject({ payload: 2 });
});

test('under an old snapshot a run that another has completed meanwhile is a 40001', async () => {
  const id = await add();
  const run = await next('fetch');
  const other = await db.connect();
  await client.query('begin isolation level repeatable read; select count(*) from tock.results');
  await complete(other, run.lease, [{ id, result: 1 }]);
  expect(await refusal(done(run, { result: 1 }))).toMatchObject({ code: '40001' });
  await client.query('rollback');
  expect(await claim(client, 'parse', { limit: 10 })).toHaveLength(1);
});

test('a result may name the stage that comes next, before or after, or end the task', async () => {
  const id = await add();
  await done(await next('fetch'), { stage: 'index', result: 1 });
  await done(await next('index'), { stage: 'fetch', result: 2 });
  await done(await next('fetch'), { stage: 'fetch', result: 3 });
  await done(await next('fetch'), { result: 4 });
  await done(await next('parse'), { stage: null, result: 5 });
  const found = await look(id);
  expect(found).toMatchObject({ state: 'done', queue: 'parse', result: 5 });
  expect(found.runs.map(({ queue }) => queue)).toEqual([
    'fetch',
    'index',
    'fetch',
    'fetch',
    'parse',
  ]);
});

test('a task begins in the stage where it is enqueued', async () => {
  const id = await add({}, 'parse');
  await done(await next('parse'), { result: 'parsed' });
  expect(await next('index')).toMatchObject({ id, payload: 'parsed' });
});

for (const [what, item, pipeline] of [
  ['no stage of the pipeline', { stage: 'mail' }, true],
  ['no name', { stage: 7 }, true],
  ['a list', { stage: ['parse'] }, true],
  ['a stage of a task without a pipeline', { stage: 'parse' }, false],
  ['an end of a task without a pipeline', { stage: null }, false],
] as const) {
  test(`a stage is refused that is ${what}, and nothing is done`, async () => {
    const good = await add();
    const bad = pipeline
      ? await add()
      : ((await enqueue(client, 'fetch', [{ expires_in_seconds: 60 }]))[0] as string);
    const runs = await claim(client, 'fetch', { limit: 2 });
    const items = [{ id: good }, { id: bad, ...item }];
    expect(await refusal(complete(client, leaseOf(runs), items))).toMatchObject({
      code: 'TK422',
      detail: 'results[1].stage',
    });
    expect(await look(good)).toMatchObject({ state: 'running', queue: 'fetch' });
  });
}

test('a stage of a plain task is refused', async () => {
  const [id] = await enqueue(client, 'fetch', [{}]);
  const run = await next('fetch');
  expect(await refusal(done(run, { stage: 'parse' }))).toMatchObject({
    code: 'TK422',
    detail: 'results[0].stage',
  });
  expect(await look(id as string)).toMatchObject({ state: 'running' });
});

test('a result that the next queue is too small for is refused; the last one is not asked', async () => {
  await setQueue(client, 'parse', { max_payload_bytes: 1024 });
  const id = await add();
  const run = await next('fetch');
  const large = 'x'.repeat(2000);
  expect(await refusal(done(run, { result: large }))).toMatchObject({
    code: 'TK422',
    detail: 'results[0].result',
  });
  expect(await look(id)).toMatchObject({ state: 'running' });
  expect(await done(run, { result: large, stage: null })).toMatchObject({ completed: 1 });
});

for (const [what, pipeline, field] of [
  ['not a list', 'fetch', 'pipeline'],
  ['of one stage', ['fetch'], 'pipeline'],
  ['of 21 stages', Array.from({ length: 21 }, (_, n) => `q${n}`), 'pipeline'],
  ['with a name that is none', ['fetch', 'a b'], 'pipeline[1]'],
  ['with a number', ['fetch', 1], 'pipeline[1]'],
  ['with a stage twice', ['fetch', 'parse', 'fetch'], 'pipeline[2]'],
  ['of other queues', ['parse', 'index'], 'pipeline'],
] as const) {
  test(`a pipeline is refused that is ${what}`, async () => {
    const given = (more = {}) => enqueue(client, 'fetch', [{}, { pipeline, ...more }]);
    const refused = { code: 'TK422', detail: `tasks[1].${field}` };
    expect(await refusal(given())).toMatchObject(refused);
    expect(await refusal(given({ unique_key: 'k' }))).toMatchObject(refused);
    expect(await value(client, 'select count(*)::integer from tock.runs')).toBe(0);
  });
}

test('a pipeline is refused beside a key that reruns, as its gate is one queue’s', async () => {
  expect(await refusal(add({ unique_key: 'k', on_conflict: 'rerun' }))).toMatchObject({
    code: 'TK422',
    detail: 'tasks[0].pipeline',
  });
});

test('a pipeline of null is none', async () => {
  const id = await add({ pipeline: null });
  await complete(client, (await next('fetch')).lease);
  expect(await look(id)).toMatchObject({ state: 'done', options: null });
});

test('each stage has its policy: attempts, backoff, lost runs, time limit, lease', async () => {
  await setQueue(client, 'fetch', { max_attempts: 2, backoff_base_seconds: 0 });
  await setQueue(client, 'parse', {
    max_attempts: 3,
    timeout_seconds: 77,
    lease_seconds: 50,
    max_lost: 1,
  });
  const id = await add();
  await fail(client, (await next('fetch')).lease);
  const second = await next('fetch');
  expect(second).toMatchObject({ attempt: 2, max_attempts: 2 });
  await done(second);
  const parse = await next('parse');
  expect(parse).toMatchObject({ attempt: 1, max_attempts: 3 });
  const [lease] = await rows<{ limit: number }>(
    client,
    'select extract(epoch from timeout_at - claimed_at)::float8 as limit from tock.leases where token = $1',
    [parse.lease],
  );
  expect(lease?.limit).toBeCloseTo(77, 0);
  await fail(client, parse.lease, { retry_in_seconds: 0 });
  await fail(client, (await next('parse')).lease, { retry_in_seconds: 0 });
  const third = await next('parse');
  expect(third).toMatchObject({ attempt: 3, payload: 'begun' });
  await expire(client, third.lease);
  await reap(client);
  expect(await look(id)).toMatchObject({ state: 'dead', queue: 'parse', lost: 1 });
});

test("a task's own attempts, time limit and expiry hold in every stage", async () => {
  await setQueue(client, 'parse', { max_attempts: 9, timeout_seconds: 77, max_wait_seconds: 5 });
  const expires_at = '2099-01-01T00:00:00+00:00';
  const id = await add({ max_attempts: 2, timeout_seconds: 11, expires_at });
  await done(await next('fetch'));
  expect((await look(id)).options).toEqual({ pipeline: stages, timeout_seconds: 11, expires_at });
  expect(await next('parse')).toMatchObject({ max_attempts: 2 });
});

test('how long a task may wait and run is asked of each stage anew', async () => {
  await setQueue(client, 'fetch', { timeout_seconds: 11, max_wait_seconds: 5 });
  await setQueue(client, 'index', { max_wait_seconds: 500 });
  const id = await add();
  await done(await next('fetch'));
  expect((await look(id)).options).toEqual({ pipeline: stages });
  await done(await next('parse'));
  const { options } = await look(id);
  const wait = Date.parse(options?.expires_at as string) - Date.now();
  expect(wait).toBeGreaterThan(480_000);
  expect(wait).toBeLessThan(520_000);
});

test('a task that is dead in a stage is run again from there', async () => {
  const id = await add();
  await done(await next('fetch'), { result: 'fetched' });
  await fail(client, (await next('parse')).lease, { fatal: true });
  expect(await look(id)).toMatchObject({ state: 'dead', queue: 'parse', payload: 'fetched' });
  const again = await value<string>(client, 'select rerun_id from tock.rerun(array[$1::bigint])', [
    id,
  ]);
  expect(await next('parse')).toMatchObject({ id: again, payload: 'fetched', attempt: 1 });
  const [redriven] = await value<string[]>(
    client,
    "select ids from tock.redrive('parse', p_again => true)",
  );
  const run = await next('parse');
  expect(run).toMatchObject({ id: redriven, payload: 'fetched' });
  await done(run, { result: 'parsed' });
  expect(await next('index')).toMatchObject({ id: redriven, payload: 'parsed' });
});

test('what is redriven to another queue goes on only where that is one of its stages', async () => {
  const id = await add();
  await fail(client, (await next('fetch')).lease, { fatal: true });
  const redrive = (queue: string) =>
    value<string[]>(
      client,
      "select ids from tock.redrive('fetch', p_to_queue => $1, p_again => true)",
      [queue],
    );
  const [aside] = await redrive('aside');
  await complete(client, (await next('aside')).lease);
  expect(await look(aside as string)).toMatchObject({ state: 'done', options: null });
  const [later] = await redrive('parse');
  await complete(client, (await next('parse')).lease);
  expect(await look(later as string)).toMatchObject({ state: 'ready', queue: 'index' });
  expect(await look(id)).toMatchObject({ state: 'dead' });
});

test('a task with a pipeline is not moved to another queue', async () => {
  const id = await add();
  const waits = await add({ delay_seconds: 100 });
  expect(
    await rows(
      client,
      "select id, changed from tock.move(array[$1, $2]::bigint[], 'index') order by id",
      [id, waits],
    ),
  ).toEqual([id, waits].sort().map((one) => ({ id: one, changed: false })));
  expect(await look(id)).toMatchObject({ queue: 'fetch' });
});

test('a queue without keep_results hands its result on and keeps it not', async () => {
  await setQueue(client, 'fetch', { keep_results: false });
  const id = await add();
  const run = await next('fetch');
  for (let again = 0; again < 2; again++) {
    expect(await done(run, { result: 'fetched' })).toEqual({ completed: 1, refused: [] });
  }
  expect(await next('parse')).toMatchObject({ payload: 'fetched' });
  expect((await look(id)).runs[0]).toMatchObject({ result: null });
});

test('a large result of a stage is shortened among the runs', async () => {
  const id = await add();
  await done(await next('fetch'), { result: 'x'.repeat(5000) });
  expect((await look(id)).runs[0]).toMatchObject({ result: { shortened: true } });
});

test('a given-back run is ready in its stage', async () => {
  const id = await add();
  await done(await next('fetch'), { result: 1 });
  await release(client, (await next('parse')).lease);
  expect(await next('parse')).toMatchObject({ id, payload: 1, attempt: 1 });
});

test('at a gate a task stands in each stage anew, by that queue’s settings', async () => {
  await setQueue(client, 'parse', { gate_limit: 2 });
  const ids = await enqueue(
    client,
    'fetch',
    [0, 1, 2].map((payload) => ({ payload, gate: 'user 7', pipeline: stages })),
  );
  const taken = async (queue: string) => (await take(client, queue)).map((run) => run.id);
  for (const id of ids) {
    const runs = await take(client, 'fetch');
    expect(runs.map((run) => run.id)).toEqual([id]);
    await complete(client, leaseOf(runs));
  }
  expect(await taken('parse')).toEqual(ids.slice(0, 2));
  expect(await look(ids[2] as string)).toMatchObject({
    state: 'waiting',
    queue: 'parse',
    result: null,
  });
  await expectWhole(client);
});

test('the epoch of the first stage may go while the task is in a later one', async () => {
  const id = await add();
  await done(await next('fetch'), { result: 1 });
  await pass(client);
  await done(await next('parse'), { result: 2 });
  await makeDue(client, 'index');
  await promote(client);
  expect(await look(id)).toMatchObject({ id, state: 'ready', queue: 'index', payload: 2 });
});
