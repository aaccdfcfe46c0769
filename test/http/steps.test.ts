import { expect, test } from 'vitest';
import { fileService } from './file_service.ts';

const tock = fileService();

/** Enqueues a task and claims it. */
async function begun(queue: string) {
  const [id] = await tock.add(queue, {});
  const { lease, tasks } = await tock.claim(queue);
  const save = (step: object, key?: string) =>
    tock.send(`POST /v1/leases/${lease}/steps`, {
      body: { steps: [{ id, name: 'a', ...step }] },
      ...(key && { key }),
    });
  return { id, lease, save, run: tasks[0] };
}

test('steps are saved once, come with the claim after a sleep, and are listed', async () => {
  const { id, lease, save, run } = await begun('flow');
  expect(run.steps).toBeNull();
  const saved = { id, name: 'a', state: 'done', result: 1, error: null, cancel_requested: false };
  expect((await save({ result: 1 })).body.steps).toMatchObject([saved]);
  expect((await save({ result: 2 })).body.steps).toMatchObject([saved]);
  expect((await tock.send(`GET /v1/leases/${lease}/steps?id=${id}`)).body).toMatchObject({
    steps: [{ name: 'a', kind: 'step', state: 'done', result: 1, failures: 0 }],
  });
  const nap = await save({ name: 'nap', sleep_seconds: 0.05 });
  expect(nap.body.steps).toMatchObject([{ state: 'waiting', due_at: expect.any(String) }]);
  const next = await tock.claim('flow', { wait_seconds: 30 });
  expect(next.tasks).toMatchObject([
    {
      id,
      attempt: 1,
      steps: [
        { name: 'a', result: 1 },
        { name: 'nap', state: 'done' },
      ],
    },
  ]);
  expect((await save({ name: 'b', result: 3 })).status).toBe(409);
  expect((await tock.send(`GET /v1/leases/${lease}/steps?id=${id}`)).status).toBe(409);
  expect((await tock.send(`GET /v1/tasks/${id}/steps`)).body).toMatchObject({
    steps: [
      { n: 1, name: 'a' },
      { n: 2, name: 'nap' },
    ],
  });
  expect((await tock.send('GET /v1/tasks/999999999/steps')).status).toBe(404);
});

test('an event has the payload of its first signal, and a repeat of that signal says so', async () => {
  const { id, save } = await begun('waits');
  expect((await save({ event: 'waits/1' })).body.steps).toMatchObject([{ state: 'waiting' }]);
  const signal = (payload: unknown, request_id: string) =>
    tock.post('events', { event: 'waits/1', payload, request_id });
  expect((await signal({ n: 1 }, 'one')).body).toEqual({ accepted: true, woken: 1 });
  expect((await signal({ n: 2 }, 'two')).body).toEqual({ accepted: false, woken: 0 });
  expect((await signal({ n: 1 }, 'one')).body).toEqual({ accepted: true, woken: 0 });
  expect((await tock.claim('waits')).tasks).toMatchObject([
    { id, steps: [{ state: 'done', result: { n: 1 } }] },
  ]);
});

test('a key for some queues waits for and signals events of these queues only', async () => {
  const key = await tock.makeKey(['claim', 'enqueue'], ['mine']);
  const { save } = await begun('mine');
  const signal = (event: string) => tock.send('POST /v1/events', { body: { event }, key });
  for (const event of ['theirs/1', 'mine', 'mine2/1', '/mine', '*/1'].filter((e) => e !== 'mine')) {
    expect((await save({ event }, key)).status, event).toBe(403);
    expect((await signal(event)).status, event).toBe(403);
  }
  expect((await save({ event: 'mine/1' }, key)).status).toBe(200);
  expect((await signal('mine/1')).body).toEqual({ accepted: true, woken: 1 });
});

test('a key of another queue neither saves nor reads steps', async () => {
  const key = await tock.makeKey(['claim', 'read'], ['other']);
  const { id, lease, save } = await begun('private');
  await save({ result: 'secret' });
  expect((await save({ name: 'b', result: 1 }, key)).status).toBe(403);
  for (const path of [`leases/${lease}/steps?id=${id}`, `tasks/${id}/steps`])
    expect((await tock.send(`GET /v1/${path}`, { key })).status, path).toBe(403);
});

test('a key needs the scope enqueue for the queue of a child', async () => {
  const invoke = (queue: string) => ({ name: queue, invoke: { queue, payload: 1 } });
  const { save } = await begun('invoker');
  const claimer = await tock.makeKey(['claim'], ['invoker', 'invoked']);
  expect((await save(invoke('invoked'), claimer)).status).toBe(403);
  const both = await tock.makeKey(['claim', 'enqueue'], ['invoker', 'invoked']);
  expect((await save(invoke('elsewhere'), both)).status).toBe(403);
  const field = 'steps[0].invoke.priority';
  const bad = { name: 'bad', invoke: { queue: 'invoked', priority: 99 } };
  expect(await save(bad, both)).toMatchObject({ status: 422, body: { field } });
  expect((await save(invoke('invoked'), both)).body.steps).toMatchObject([{ state: 'waiting' }]);
  expect((await tock.claim('invoked')).tasks).toMatchObject([{ payload: 1 }]);
});

test('a link signals its event without a key, once', async () => {
  const { id, save } = await begun('linked');
  await save({ event: 'linked/1' });
  const key = await tock.makeKey(['enqueue'], ['linked']);
  const claimer = await tock.makeKey(['claim']);
  const make = (event: string, as = key) =>
    tock.send('POST /v1/event-links', { body: { event }, key: as });
  expect((await make('other/1')).status).toBe(403);
  expect((await make('linked/1', claimer)).status).toBe(403);
  const { token } = (await make('linked/1')).body;
  const use = (path: string, body: object | string, headers = {}) =>
    tock.send(`POST /v1/events/${path}`, { body, key: null, headers });
  expect((await use('0'.repeat(64), {})).status).toBe(404);
  expect((await use(token, { text: 'x'.repeat(9000) })).status).toBe(413);
  expect((await use(token, '[1]')).status).toBe(422);
  expect(await use(token, { by: 'ann' })).toMatchObject({ status: 200, body: { accepted: true } });
  expect((await use(token, { by: 'bob' })).status).toBe(409);
  expect((await tock.claim('linked')).tasks).toMatchObject([
    { id, steps: [{ result: { by: 'ann' } }] },
  ]);
});

test('a rerun from a step keeps the steps before it', async () => {
  const { id, lease, save } = await begun('forked');
  for (const name of ['a', 'b']) await save({ name, result: name });
  await tock.post(`leases/${lease}/complete`, {});
  const rerun = (from_step: string) => tock.post(`tasks/${id}/rerun`, { from_step });
  expect(await rerun('c')).toMatchObject({ status: 422, body: { field: 'from_step' } });
  const { rerun_id } = (await rerun('b')).body;
  expect((await tock.claim('forked')).tasks).toMatchObject([
    { id: rerun_id, steps: [{ name: 'a', result: 'a' }] },
  ]);
});
