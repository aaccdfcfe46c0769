import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Service, service } from './service.ts';

let tock: Service;
let count = 0;
beforeAll(async () => {
  tock = await service();
});
afterAll(() => tock.database.drop());

/** Creates a queue with new tasks, and claims all of them in one lease. */
async function lease(tasks: number, options: object = {}) {
  const queue = `lease${++count}`;
  const body = { tasks: Array.from({ length: tasks }, (_, n) => ({ payload: n, ...options })) };
  await tock.send(`POST /v1/queues/${queue}/tasks`, { body });
  const claimed = await tock.send(`POST /v1/queues/${queue}/claim`, { body: { limit: tasks } });
  const ids: string[] = claimed.body.tasks.map((task: { id: string }) => task.id);
  const end = (verb: string, body?: unknown) =>
    tock.send(`POST /v1/leases/${claimed.body.lease}/${verb}`, { body });
  return { queue, ids, end, until: new Date(claimed.body.leased_until) };
}

test('a whole lease is completed by an empty object, or by no body at all', async () => {
  const [first, second] = [await lease(3), await lease(2)];
  expect((await first.end('complete', {})).body).toEqual({ completed: 3, refused: [] });
  expect((await second.end('complete')).body).toEqual({ completed: 2, refused: [] });
});

test('a repeated completion with the same content gets the same answer', async () => {
  const { ids, end } = await lease(2);
  const results = ids.map((id) => ({ id, result: id }));
  expect((await end('complete', { results })).body).toEqual({ completed: 2, refused: [] });
  expect((await end('complete', { results })).body).toEqual({ completed: 2, refused: [] });
});

test('a part of a lease is completed, and ids of other leases are refused by name', async () => {
  const { ids, end } = await lease(2);
  const other = await lease(1);
  const results = [{ id: ids[0] }, { id: other.ids[0] }];
  expect((await end('complete', { results })).body).toEqual({ completed: 1, refused: other.ids });
});

test('an unknown or lost lease is a 409 for every call', async () => {
  const { end, queue } = await lease(1);
  await tock.owner.query(
    "update tock.leases set leased_until = now() - interval '1 minute' where closed_at is null",
  );
  await tock.owner.query('select tock.reap(p_sweep => true)');
  for (const verb of ['complete', 'fail', 'release', 'extend']) {
    const unknown = `POST /v1/leases/00000000-0000-4000-8000-00000000000f/${verb}`;
    for (const reply of [await end(verb, {}), await tock.send(unknown)]) {
      expect(reply, verb).toMatchObject({ status: 409, body: { hint: expect.any(String) } });
    }
  }
  const again = await tock.send(`POST /v1/queues/${queue}/claim`);
  expect(again.body.tasks).toMatchObject([{ attempt: 2 }]);
});

test('runs fail with an error each, and are retried after the given delay', async () => {
  const { ids, end, queue } = await lease(2);
  const failures = [
    { id: ids[0], error: { name: 'Oops', message: 'no' }, retry_in_seconds: 0 },
    { id: ids[1], error: 'gone', fatal: true },
  ];
  expect((await end('fail', { failures })).body).toEqual({ failed: 2, dead: 1, refused: [] });
  const dead = await tock.send(`GET /v1/tasks/${ids[1]}`);
  expect(dead.body).toMatchObject({ state: 'dead', error: 'gone' });
  const again = await tock.send(`POST /v1/queues/${queue}/claim`, { body: { wait_seconds: 5 } });
  expect(again.body.tasks).toMatchObject([{ id: ids[0], attempt: 2 }]);
});

test('a whole lease fails with one error, or with an empty body', async () => {
  const [first, second] = [await lease(2), await lease(2)];
  const failed = await first.end('fail', { error: 'all', fatal: true });
  expect(failed.body).toEqual({ failed: 2, dead: 2, refused: [] });
  expect((await second.end('fail')).body).toEqual({ failed: 2, dead: 0, refused: [] });
});

test('runs are released, some or all, and are claimed again as the same attempt', async () => {
  const { ids, end, queue } = await lease(3);
  expect((await end('release', { ids: [ids[1]] })).body).toEqual({ released: 1, refused: [] });
  // The count is 3, because a repeated call counts the task that was released before, too.
  expect((await end('release')).body).toEqual({ released: 3, refused: [] });
  const again = await tock.send(`POST /v1/queues/${queue}/claim`, { body: { limit: 3 } });
  expect(again.body.tasks.map((task: { attempt: number }) => task.attempt)).toEqual([1, 1, 1]);
});

test('extend moves the end of a lease', async () => {
  const { end, until } = await lease(2);
  const extended = await end('extend', { lease_seconds: 600 });
  expect(extended.body).toMatchObject({ runs: 2 });
  expect(new Date(extended.body.leased_until).getTime() - until.getTime()).toBeGreaterThan(500_000);
  expect((await end('extend')).status).toBe(200);
});

test('extend never moves the end of a lease back', async () => {
  const { end } = await lease(1);
  const { body } = await end('extend', { lease_seconds: 600 });
  expect((await end('extend', { lease_seconds: 1 })).body).toEqual(body);
});

test('extend counts the runs of each priority that has runs left', async () => {
  const queue = 'counted';
  const tasks = [{ priority: 0 }, { priority: 0 }, { priority: 5 }, { priority: 5 }];
  const { body } = await tock.send(`POST /v1/queues/${queue}/tasks`, { body: { tasks } });
  const claimed = await tock.send(`POST /v1/queues/${queue}/claim`, { body: { limit: 4 } });
  const at = `POST /v1/leases/${claimed.body.lease}`;
  for (const [ended, runs] of [
    [0, 4],
    [1, 2],
    [2, 2],
  ] as const) {
    await tock.send(`${at}/complete`, { body: { results: [{ id: body.ids[ended] }] } });
    expect((await tock.send(`${at}/extend`)).body).toMatchObject({ runs });
  }
});

test('extend reports progress, and the task shows it', async () => {
  const tasks = [{ payload: 1 }, { payload: 2 }];
  const { body } = await tock.send('POST /v1/queues/told/tasks', { body: { tasks } });
  const [first, second] = body.ids;
  const claimed = await tock.send('POST /v1/queues/told/claim', { body: { limit: 2 } });
  const extend = async (progress: unknown) =>
    (await tock.send(`POST /v1/leases/${claimed.body.lease}/extend`, { body: { progress } })).body;
  const shown = async (id: string) => {
    const { progress, note, runs } = (await tock.send(`GET /v1/tasks/${id}`)).body;
    expect(runs).toMatchObject([{ progress, note, leased_until: expect.any(String) }]);
    return [progress, note];
  };
  expect(await extend({ progress: 10 })).toMatchObject({ runs: 2, cancel: [], refused: [] });
  expect(await shown(first)).toEqual([10, null]);
  const progressReports = [first, '1'].map((id) => ({ id, progress: 12.5, note: 'a "note"' }));
  expect(await extend(progressReports)).toMatchObject({ refused: ['1'] });
  expect(await shown(first)).toEqual([12.5, 'a "note"']);
  expect(await shown(second)).toEqual([10, null]);
  expect(await extend(null)).toMatchObject({ refused: [] });
  await tock.send(`POST /v1/leases/${claimed.body.lease}/complete`);
  expect(await extend({ progress: 99 })).toMatchObject({ status: 409 });
});
