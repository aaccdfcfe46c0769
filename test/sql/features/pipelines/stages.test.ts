import { beforeEach, expect, test } from 'vitest';
import { expectWhole } from '../../invariants.ts';
import { age, epochs, pass, retain, settle } from '../../kernel/segment/segments.ts';
import { client, databaseEach } from '../../test_database.ts';
import { complete, enqueue, expire, fail, leaseOf, reap, rows, value } from '../../verbs.ts';
import { setQueue, take } from '../concurrency/concurrency_keys.ts';
import { add, done, look, next, slowRetries, stages } from './pipelines.ts';

databaseEach();

beforeEach(slowRetries);

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
  await pass(client);
  await settle(client);
  await age(client, '8 days');
  await retain(client);
  expect((await epochs(client))[0]).toBe(2);
  expect(await look(id)).toMatchObject({ id, state: 'ready', queue: 'index', payload: 2 });
  await client.query('select * from tock.cancel(array[$1::bigint])', [id]);
  expect(await look(id)).toMatchObject({ id, state: 'cancelled' });
});

test('a task that went on is listed where it is, and each stage counts its own runs', async () => {
  const id = await add();
  await done(await next('fetch'));
  const listed = async (queue: string) =>
    value(client, 'select tasks from tock.tasks($1)', [JSON.stringify({ queue })]).then((tasks) =>
      (tasks as { id: string; state: string }[]).map((one) => [one.id, one.state]),
    );
  expect([await listed('fetch'), await listed('parse')]).toEqual([[], [[id, 'ready']]]);
  await done(await next('parse'), { stage: null });
  expect([await listed('fetch'), await listed('parse')]).toEqual([[], [[id, 'done']]]);
  await client.query('select tock.minutes()');
  for (const queue of ['fetch', 'parse']) {
    const counted =
      'select sum(done)::integer as done, sum(failed)::integer as failed from tock.series($1)';
    expect(await rows(client, counted, [queue])).toEqual([{ done: 1, failed: 0 }]);
  }
});

test('what a task brought and what its stages made of it is erased, in all of its runs', async () => {
  const id = await add({ payload: 'secret 1' });
  await done(await next('fetch'), { result: 'secret 2' });
  await done(await next('parse'), { result: 'secret 3', stage: null });
  expect(await value(client, 'select tock.erase($1)', [id])).toBe(2);
  const left = `select count(*)::integer from (select r.payload from tock.runs r union all select e.result from tock.results e) x
    where x.payload::text like '%secret%'`;
  expect(await value(client, left)).toBe(0);
});
