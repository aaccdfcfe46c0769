import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Service, service } from './service.ts';

let tock: Service;
let count = 0;
beforeAll(async () => {
  tock = await service();
});
afterAll(() => tock.database.drop());

/** Creates a queue with these tasks. */
async function enqueue(...tasks: object[]) {
  const queue = `change${++count}`;
  const { body } = await tock.send(`POST /v1/queues/${queue}/tasks`, { body: { tasks } });
  const ids: string[] = body.ids;
  const claim = async (limit = 10) =>
    (await tock.send(`POST /v1/queues/${queue}/claim`, { body: { limit } })).body;
  return { queue, ids, id: ids[0] as string, claim };
}

const patch = (id: string, body: object) => tock.send(`PATCH /v1/tasks/${id}`, { body });
const cancel = (id: string) => tock.send(`POST /v1/tasks/${id}/cancel`, { body: {} });
const look = async (id: string) => (await tock.send(`GET /v1/tasks/${id}`)).body;

/** Creates a task that is done and one that is dead. */
async function ended() {
  const { queue, ids, claim } = await enqueue({ payload: 'a' }, { payload: 'b' });
  const { lease } = await claim();
  const at = `POST /v1/leases/${lease}`;
  await tock.send(`${at}/fail`, { body: { failures: [{ id: ids[1], fatal: true, error: 'e' }] } });
  await tock.send(`${at}/complete`, { body: { results: [{ id: ids[0], result: 'r' }] } });
  return { queue, done: ids[0] as string, dead: ids[1] as string };
}

test('a ready or waiting task is cancelled once and never claimed', async () => {
  const { ids, claim } = await enqueue({}, { delay_seconds: 60 }, { payload: 'left' });
  for (const id of ids.slice(0, 2)) {
    expect(await cancel(id)).toMatchObject({
      status: 200,
      body: { id, state: 'cancelled', changed: true },
    });
    const again = await cancel(id);
    expect(again).toMatchObject({ status: 200, body: { id, state: 'cancelled', changed: false } });
    expect(await look(id)).toMatchObject({ id, state: 'cancelled' });
  }
  const { tasks, state } = await claim();
  expect(tasks).toMatchObject([{ payload: 'left' }]);
  expect(state).toBe('found');
});

test('the worker of a running task learns of its cancel when it extends the lease', async () => {
  const { id, ids, claim } = await enqueue({}, {});
  const { lease } = await claim();
  const extend = async () => (await tock.send(`POST /v1/leases/${lease}/extend`)).body;
  expect(await extend()).toMatchObject({ runs: 2, cancel: [] });
  expect((await cancel(id)).body).toEqual({ id, state: 'running', changed: true });
  expect(await extend()).toMatchObject({ runs: 2, cancel: [id] });
  const failures = ids.map((taskId) => ({ id: taskId, retry_in_seconds: 0 }));
  await tock.send(`POST /v1/leases/${lease}/fail`, { body: { failures } });
  const again = await claim();
  expect(again.tasks).toMatchObject([{ id: ids[1], attempt: 2 }]);
  expect((await look(id)).state).toBe('cancelled');
});

test('an ended task is neither cancelled nor changed, and the answer has its state', async () => {
  const { done, dead } = await ended();
  for (const [id, state] of [
    [done, 'done'],
    [dead, 'dead'],
  ] as const) {
    for (const refused of [await cancel(id), await patch(id, { priority: 0 })]) {
      expect(refused).toMatchObject({
        status: 409,
        body: {
          type: '/errors/TK409',
          detail: expect.stringContaining(state),
          field: 'id',
          hint: expect.stringContaining("while the queue's retention keeps it"),
        },
      });
    }
    expect(await look(id)).toMatchObject({ state });
  }
  const { id } = await enqueue({});
  await cancel(id);
  expect(await patch(id, { priority: 0 })).toMatchObject({ status: 409 });
});

test('many tasks are cancelled in one call, and the answer omits unknown ids', async () => {
  const { ids, claim } = await enqueue({}, {}, { delay_seconds: 60 });
  await claim(1);
  const { done } = await ended();
  const idsToChange = [...ids, done, '9223372036854775807'];
  const { status, body } = await tock.send('POST /v1/tasks/cancel', { body: { ids: idsToChange } });
  expect(status).toBe(200);
  const states = new Map(body.tasks.map((task: { id: string }) => [task.id, task]));
  expect(states.size).toBe(4);
  const answers = ids.map((id) => states.get(id) as { state: string; changed: boolean });
  expect(answers.map(({ state }) => state).sort()).toEqual(['cancelled', 'cancelled', 'running']);
  expect(answers.every(({ changed }) => changed)).toBe(true);
  expect(states.get(done)).toEqual({ id: done, state: 'done', changed: false });
});

test('ten thousand tasks are cancelled in one call', async () => {
  const { ids, claim } = await enqueue(...Array(10_000).fill({}));
  const { body } = await tock.send('POST /v1/tasks/cancel', { body: { ids } });
  expect(body.tasks).toHaveLength(10_000);
  expect((await claim()).tasks).toEqual([]);
});

test('a task gets another priority, time and payload', async () => {
  const { ids, claim } = await enqueue({}, { priority: 5 }, {}, { delay_seconds: 600 });
  const [later, urgent, other, soon] = ids as [string, string, string, string];
  const run_at = '2031-01-31T09:00:00Z';
  expect((await patch(later, { run_at })).body).toEqual({
    id: later,
    state: 'ready',
    changed: true,
  });
  expect((await patch(urgent, { priority: 0 })).body).toMatchObject({ id: urgent, changed: true });
  await patch(other, { payload: { to: 'b' } });
  expect((await patch(soon, { delay_seconds: 0, priority: 9 })).body.state).toBe('waiting');
  expect(await look(later)).toMatchObject({ state: 'waiting', priority: 5 });
  expect(new Date((await look(later)).run_at)).toEqual(new Date(run_at));
  const first = await claim(1);
  expect(first.tasks).toMatchObject([{ id: urgent, priority: 0 }]);
  const rest = [...(await claim(1)).tasks, ...(await claim(1)).tasks];
  expect(rest).toMatchObject([
    { id: other, payload: { to: 'b' } },
    { id: soon, priority: 9 },
  ]);
  expect((await claim()).tasks).toEqual([]);
});

test('a payload changes to null too, and to numbers with all their digits', async () => {
  const { ids, claim } = await enqueue({ payload: 1 }, { payload: 2 });
  await patch(ids[0] as string, { payload: null });
  const raw = '{"payload": {"n": 12345678901234567890.10}}';
  expect(await tock.send(`PATCH /v1/tasks/${ids[1]}`, { raw })).toMatchObject({ status: 200 });
  expect((await tock.send(`GET /v1/tasks/${ids[1]}`)).text).toContain('12345678901234567890.10');
  expect((await claim()).tasks).toContainEqual(
    expect.objectContaining({ id: ids[0], payload: null }),
  );
});

test('a change to a running task applies to its next attempt', async () => {
  const { id, claim } = await enqueue({ payload: 1 });
  const { lease } = await claim();
  expect((await patch(id, { payload: 2 })).body).toEqual({ id, state: 'running', changed: true });
  await tock.send(`POST /v1/leases/${lease}/fail`, { body: { retry_in_seconds: 0 } });
  expect((await claim()).tasks).toMatchObject([{ id, attempt: 2, payload: 2 }]);
});

test('the data of an ended task is erased, and the erasure of another task is refused', async () => {
  const { queue, done, dead } = await ended();
  const erase = (id: string, key = tock.key) =>
    tock.send(`DELETE /v1/tasks/${id}/payload`, { key });
  expect(await erase(done)).toMatchObject({ status: 200, body: { erased: expect.any(Number) } });
  expect(await look(done)).toMatchObject({ state: 'done', payload: null, result: null });
  expect(await erase(dead, await tock.makeKey(['admin'], [queue]))).toMatchObject({ status: 200 });
  expect(await look(dead)).toMatchObject({ state: 'dead', payload: null, error: null });
  const { id } = await enqueue({ payload: 'kept' });
  expect(await erase(id)).toMatchObject({ status: 409, body: { hint: expect.any(String) } });
  expect((await look(id)).payload).toBe('kept');
});

test('cancel, change and erase answer 404 for an unknown id', async () => {
  const at = '/v1/tasks/9223372036854775807';
  for (const [route, body] of [
    [`PATCH ${at}`, { priority: 1 }],
    [`POST ${at}/cancel`, {}],
    [`DELETE ${at}/payload`, undefined],
  ] as const) {
    expect(await tock.send(route, { body }), route).toMatchObject({ status: 404 });
  }
});
