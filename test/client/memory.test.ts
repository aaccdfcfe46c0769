import { beforeAll, describe, expect, test } from 'vitest';
import { LeaseLost, RetryIn } from '../../client/index.ts';
import { createTestTock } from '../../client/testing.ts';
import { payloadTasks, queue, there, useClientService } from './service.ts';
import { type Scenario, shown, some } from './shown.ts';
import { stepScenarios } from './step_scenarios.ts';
import { inDatabase, inMemory, type Subject } from './stores.ts';

useClientService();
let real: Subject;
beforeAll(() => {
  real = inDatabase(there);
});

const scenarios: Record<string, Scenario> = {
  ...stepScenarios,

  async 'tasks are claimed by priority and completed with results'({ tock }, q) {
    const tasks = [{ payload: 'b' }, { payload: 'a', priority: 0, tenant: 't' }, { payload: null }];
    const ids = await tock.enqueueMany(q, tasks);
    const [other = '', id = ''] = ids;
    const lease = await tock.claim(q, { limit: 2, worker: 'w' });
    const results = [{ id, result: { n: 1 } }, { id: other }];
    await lease?.extend(60, [{ id, progress: 10, note: 'n' }]);
    const running = await shown(tock, id);
    const answers = [await lease?.complete(results), await lease?.complete(results)];
    const next = (await tock.claim(q, { limit: 9 }))?.tasks.map(({ payload }) => payload);
    const names = 'payload attempt max_attempts priority tenant';
    const first = lease?.tasks.map((task) => some(task, names));
    const all = await Promise.all(ids.map((each) => shown(tock, each)));
    return { first, running, answers, next, all };
  },

  async 'a failed task waits for its backoff, and is dead after its last attempt'(
    { tock, advance },
    q,
  ) {
    const id = await tock.enqueue(q, 1, { max_attempts: 2 });
    const failed = await (await tock.claim(q))?.fail({ error: { message: 'no' } });
    const waiting = [await shown(tock, id), await tock.claim(q)];
    await advance(6);
    const second = await tock.claim(q);
    const dead = await second?.fail({ error: 'still not' });
    return [failed, waiting, second?.tasks[0]?.attempt, dead, await shown(tock, id)];
  },

  async 'a failure is fatal, or says when to try again'({ tock, advance }, q) {
    const [id = '', later = ''] = await tock.enqueueMany(q, payloadTasks(2));
    const lease = await tock.claim(q, { limit: 2 });
    const answer = await lease?.fail([
      { id, error: 'e', fatal: true },
      { id: later, retry_in_seconds: 1000 },
    ]);
    await advance(900);
    const early = await tock.claim(q);
    await advance(101);
    return [answer, early, (await tock.claim(q))?.tasks[0]?.payload, await shown(tock, id)];
  },

  async 'a lease that ran out can do nothing, and its tasks come again'({ tock, advance }, q) {
    const id = await tock.enqueue(q, 1);
    const lease = await tock.claim(q, { lease_seconds: 300, worker: 'late' });
    await advance(200);
    const extended = (await lease?.extend(300, { progress: 50, note: 'half' })) ?? {};
    const stored = await shown(tock, id);
    await advance(301);
    const lost = [];
    for (const end of [lease?.complete, lease?.fail, lease?.release, lease?.extend]) {
      lost.push(await end?.().catch((error) => [error instanceof LeaseLost, error.message]));
    }
    const attempt = (await tock.claim(q))?.tasks[0]?.attempt;
    return [some(extended, 'runs cancel refused'), stored, lost, attempt, await shown(tock, id)];
  },

  async 'what is given back comes again at once'({ tock }, q) {
    const [a = '', b = ''] = await tock.enqueueMany(q, payloadTasks(2));
    const lease = await tock.claim(q, { limit: 2 });
    const answers = [await lease?.release([a]), await lease?.release([a]), await lease?.complete()];
    const again = await tock.claim(q, { limit: 2 });
    const tasks = again?.tasks.map((task) => some(task, 'payload attempt'));
    return [answers, tasks, await shown(tock, a), await shown(tock, b)];
  },

  async 'a delayed task comes when it is due'({ tock, advance }, q) {
    const id = await tock.enqueue(q, 1, { delay_seconds: 60 });
    const early = [await tock.claim(q), await shown(tock, id)];
    await advance(61);
    return [early, (await tock.claim(q))?.tasks[0]?.payload];
  },

  async 'a cancelled task is not claimed, and the worker of one that runs hears of it'(
    { tock },
    q,
  ) {
    const [a = '', b = ''] = await tock.enqueueMany(q, payloadTasks(2));
    const lease = await tock.claim(q);
    const states = (await tock.cancel([a, b, a])).map(({ state, changed }) => [state, changed]);
    const heard = (await lease?.extend())?.cancel.length;
    await lease?.release();
    const next = await tock.claim(q);
    return [states.sort(), heard, next, await shown(tock, a), await shown(tock, b)];
  },

  async 'calls repeated with their request id are one'({ tock }, q) {
    const request_id = `request ${q}`;
    const id = await tock.enqueue(q, 1, { request_id });
    const again = await tock.enqueue(q, 1, { request_id });
    const first = await tock.claim(q, { request_id });
    const second = await tock.claim(q, { request_id });
    return [id === again, first?.lease === second?.lease, await tock.claim(q)];
  },

  async 'a unique key is kept until its task has ended'({ tock }, q) {
    const options = { unique_key: 'k' };
    const id = await tock.enqueue(q, 1, options);
    const again = await tock.enqueue(q, 2, options);
    await (await tock.claim(q, { limit: 5 }))?.complete();
    const other = await tock.enqueue(q, 3, options);
    return [id === again, id === other, (await tock.claim(q, { limit: 5 }))?.tasks.length];
  },

  async 'a worker runs handlers to the end'({ tock, advance }, q) {
    await tock.enqueueMany(q, payloadTasks(3));
    const seen: unknown[] = [];
    const handler = (
      task: { payload: unknown; attempt: number },
      { spawn }: { spawn(s: object): void },
    ) => {
      seen.push([task.payload, task.attempt]);
      if (task.payload === 1 && task.attempt === 1) throw new RetryIn(60);
      if (task.payload === 2) spawn({ tasks: [{ payload: 'child' }] });
    };
    const worked = [await tock.work(q, handler as never, { until: 'empty' })];
    await advance(61);
    worked.push(await tock.work(q, handler as never, { until: 'empty' }));
    return { worked, seen };
  },

  async 'one call ends tasks and claims the next'({ tock }, q) {
    await tock.enqueueMany(q, payloadTasks(4));
    const claimed = await tock.claim(q, { limit: 2 });
    const [id = '', other = ''] = claimed?.tasks.map((task) => task.id) ?? [];
    const failures = [{ id: other, error: 'boom', fatal: true }];
    const ends = [{ lease: claimed?.lease ?? '', results: [{ id, result: 5 }], failures }];
    const answers = [await tock.next(q, ends), await tock.next(q, ends)];
    return answers.map(({ ended, lease }) => [
      ended.map(({ lease: _, ...counts }) => counts),
      lease?.tasks.map(({ payload }) => payload),
    ]);
  },

  async 'headers come back with each run, and are shown'({ tock }, q) {
    const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
    const id = await tock.enqueue(q, 1, { headers: { traceparent } });
    await tock.enqueue(q, 2);
    const runs = [await tock.claim(q), await tock.claim(q)].map((lease) => lease?.tasks[0]);
    const fields = runs.map((run) => [run?.payload, run?.headers, run?.push_url]);
    return [fields.sort(), (await tock.task(id))?.options];
  },

  async 'several queues are claimed from in order'({ tock }, q) {
    for (const name of [`${q}b`, `${q}a`]) await tock.enqueue(name, name.at(-1));
    const { leases, state } = await tock.claimAny([`${q}a`, `${q}b`], { limit: 2 });
    const nothing = await tock.claimAny([`${q}a`, `${q}b`]);
    return [leases.map(({ tasks }) => tasks[0]?.payload), state, nothing.leases, nothing.state];
  },
};

// Removes the time from error messages, because the database and the in-memory Tock have different clocks.
const plain = (answer: unknown) =>
  JSON.parse(JSON.stringify(answer).replaceAll(/expired at [^"]*/g, 'expired'));

describe.each(Object.entries(scenarios))(
  'the in-memory Tock behaves as the database does',
  (name, scenario) => {
    test(name, async () => {
      const q = queue();
      const wanted = await scenario(real, q);
      expect(plain(await scenario(inMemory(), q))).toEqual(plain(wanted));
    });
  },
);

test('createTestTock() lets a test move the clock and drain queues', async () => {
  type Queues = { mail: { to: string }; log: string };
  const tock = createTestTock<Queues>({ now: new Date('2030-01-01T00:00:00Z') });
  await tock.enqueue('mail', { to: 'ann' }, { delay_seconds: 60 });
  const sent: string[] = [];
  const handlers = {
    mail: (task: { payload: { to: string } }) => void sent.push(task.payload.to),
    log: () => {},
  };
  expect(await tock.drain(handlers)).toMatchObject({ done: 0 });
  tock.advance(60);
  expect(tock.now().toISOString()).toBe('2030-01-01T00:01:00.000Z');
  expect(await tock.drain(handlers)).toMatchObject({ done: 1 });
  expect(sent).toEqual(['ann']);
});

test('the in-memory Tock refuses options that it does not support', async () => {
  const tock = createTestTock();
  await expect(tock.enqueue('q', 1, { concurrency_key: 'g' })).rejects.toMatchObject({
    status: 422,
    field: 'concurrency_key',
  });
  const settings = tock.call('PUT', '/v1/queues/q', { max_attempts: 3 });
  await expect(settings).rejects.toMatchObject({ status: 422, field: 'max_attempts' });
  const id = await tock.enqueue('q', 1);
  const wait = { tasks: [{ payload: 2 }], wait: true };
  await tock.drain({ q: (_, { spawn }) => spawn(wait) });
  expect((await tock.task(id))?.runs[0]?.error).toMatchObject({
    message: 'results[0].spawn.wait: the in-memory Tock does not support this option',
  });
  await expect(tock.pools.listPools()).rejects.toMatchObject({ status: 501 });
});
