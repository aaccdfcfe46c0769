import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Service, service } from './service.ts';

let tock: Service;
let count = 0;
beforeAll(async () => {
  tock = await service();
});
afterAll(() => tock.database.drop());

const post = async (route: string, body: object = {}, key?: string) =>
  tock.send(`POST ${route}`, { body, ...(key && { key }) });
const look = async (id: string) => (await tock.send(`GET /v1/tasks/${id}`)).body;

/** Creates a queue with dead tasks, one for each error. */
async function dead(...errors: string[]) {
  const queue = `mind${++count}`;
  const at = `/v1/queues/${queue}`;
  const tasks = errors.map((_, payload) => ({ payload, tenant: 't' }));
  const ids: string[] = (await post(`${at}/tasks`, { tasks })).body.ids;
  const { lease, tasks: runs } = (await post(`${at}/claim`, { limit: 100 })).body;
  const failures = runs.map((run: { id: string; payload: number }) => ({
    id: run.id,
    fatal: true,
    error: { message: errors[run.payload] },
  }));
  await post(`/v1/leases/${lease}/fail`, { failures });
  const claim = async (limit = 100) => (await post(`${at}/claim`, { limit })).body.tasks;
  return { queue, at, ids, id: ids[0] as string, claim };
}

test('dead tasks are grouped, and redriven by error to another queue', async () => {
  const { at, ids, claim } = await dead('timeout', 'no user', 'timeout');
  const { body } = await tock.send(`GET ${at}/dead`);
  expect(body).toEqual({
    groups: [
      { error: 'timeout', tasks: 2, newest_at: expect.any(String), newest_id: ids[2] },
      { error: 'no user', tasks: 1, newest_at: expect.any(String), newest_id: ids[1] },
    ],
    counted_all: true,
  });
  const options = { error: 'timeout', request_id: 'r', to_queue: 'elsewhere', reason: 'mended' };
  const first = await post(`${at}/redrive`, options);
  expect(first).toMatchObject({ status: 200, body: { redriven: 2, cursor: null } });
  expect((await post(`${at}/redrive`, options)).body).toEqual(first.body);
  expect(await claim()).toEqual([]);
  const { tasks } = (await post('/v1/queues/elsewhere/claim', { limit: 9 })).body;
  expect(tasks).toHaveLength(2);
  const was = await look(ids[0] as string);
  expect(was.reruns).toMatchObject([{ kind: 'redrive', reason: 'mended' }]);
  expect(await look(was.reruns[0].id)).toMatchObject({ rerun_of: ids[0], queue: 'elsewhere' });
  expect((await tock.send(`GET ${at}/dead?limit=1`)).body.groups).toMatchObject([{ tasks: 1 }]);
});

test('a redrive in pages ends, even if its tasks die again', async () => {
  const { at } = await dead('a', 'a', 'a', 'a', 'a');
  let cursor: string | null = null;
  let [redriven, calls] = [0, 0];
  do {
    const { body } = await post(`${at}/redrive`, { limit: 2, ...(cursor && { cursor }) });
    redriven += body.redriven;
    cursor = body.cursor;
    const { lease } = (await post(`${at}/claim`, { limit: 100 })).body;
    if (lease) await post(`/v1/leases/${lease}/fail`, { error: 'a', fatal: true });
  } while (cursor !== null && ++calls < 10);
  expect([cursor, redriven]).toEqual([null, 5]);
  const before = Buffer.from('["waiting", "2026-01-01", 1]').toString('hex');
  expect(await post(`${at}/redrive`, { cursor: before })).toMatchObject({
    status: 422,
    body: { field: 'cursor', hint: expect.stringContaining('the previous page') },
  });
});

test('an ended task is rerun, and a repeated call returns the same task', async () => {
  const { id, ids, claim } = await dead('a', 'b');
  const headers = { 'Idempotency-Key': 'k' };
  const first = await tock.send(`POST /v1/tasks/${id}/rerun`, { headers });
  expect(first).toMatchObject({ status: 200, body: { id, state: 'dead', refused: null } });
  const second = await tock.send(`POST /v1/tasks/${id}/rerun`, { headers });
  expect(second.body).toEqual(first.body);
  expect(await post(`/v1/tasks/${first.body.rerun_id}/rerun`)).toMatchObject({
    status: 409,
    body: { detail: 'This task is ready.', field: 'id' },
  });
  const both = await post('/v1/tasks/rerun', { ids: [...ids, first.body.rerun_id, '1048576000'] });
  expect(both.body.tasks).toHaveLength(3);
  expect(both.body.tasks.filter((row: { refused: null }) => row.refused)).toMatchObject([
    { id: first.body.rerun_id, refused: 'unfinished', rerun_id: null },
  ]);
  expect(await claim()).toHaveLength(3);
  await tock.send(`DELETE /v1/tasks/${id}/payload`);
  expect(await post(`/v1/tasks/${id}/rerun`)).toMatchObject({
    status: 409,
    body: { detail: 'This task has been erased.' },
  });
  expect(await post('/v1/tasks/1048576000/rerun')).toMatchObject({ status: 404 });
});

test('tenants cannot share the request id of a rerun', async () => {
  const [mine, theirs] = [await dead('a'), await dead('b')];
  const keys = [mine, theirs].map(({ queue }) => tock.makeKey(['enqueue'], [queue]));
  const [first, second] = await Promise.all(keys);
  const body = { request_id: 'daily' };
  const ownRerun = await post(`/v1/tasks/${mine.id}/rerun`, body, first);
  const theirRerun = await post(`/v1/tasks/${theirs.id}/rerun`, body, second);
  expect([ownRerun, theirRerun]).toMatchObject([{ status: 200 }, { status: 200 }]);
  expect((await post(`/v1/tasks/${mine.id}/rerun`, body, first)).body).toEqual(ownRerun.body);
  const other = await post(`/v1/tasks/${ownRerun.body.rerun_id}/rerun`, body, first);
  expect(other).toMatchObject({ status: 422, body: { field: 'request_id' } });
});

test('tasks are listed by state, page by page', async () => {
  const { queue, at, ids } = await dead('a', 'b', 'c');
  const next = async (query: string) =>
    (await tock.send(`GET /v1/tasks?queue=${queue}&${query}`)).body;
  const first = await next('state=dead&limit=2');
  expect(first.tasks).toMatchObject([
    { id: ids[2], state: 'dead', error: 'c', tenant: 't', rerun: false },
    { id: ids[1] },
  ]);
  const second = await next(`state=dead&limit=2&cursor=${first.cursor}`);
  expect(second).toMatchObject({ tasks: [{ id: ids[0] }], cursor: null });
  await post(`${at}/redrive`, { error: 'a' });
  expect((await next('state=dead&rerun=false')).tasks).toHaveLength(2);
  expect((await next('state=dead&rerun=true')).tasks).toMatchObject([{ id: ids[0], rerun: true }]);
  expect((await next('error=b')).tasks).toMatchObject([{ id: ids[1] }]);
  expect((await next('tenant=t')).tasks).toHaveLength(4);
  expect((await next('state=ready&tenant=u')).tasks).toEqual([]);
});

test('tasks are moved, cancelled and reprioritized by filter', async () => {
  const { queue, at, claim } = await dead();
  const tasks = Array.from({ length: 6 }, (_, n) => ({ payload: n, tenant: `t${n % 2}` }));
  const { ids } = (await post(`${at}/tasks`, { tasks })).body;
  expect((await post(`${at}/reprioritize`, { priority: 0, tenant: 't1' })).body).toMatchObject({
    matched: 3,
    changed: 3,
    cursor: null,
  });
  expect(
    (await post(`${at}/cancel`, { state: 'ready', tenant: 't0', limit: 2 })).body,
  ).toMatchObject({ matched: 2, changed: 2, cursor: expect.any(String) });
  const moved = await post('/v1/tasks/move', {
    ids: [ids[0], ids[5]],
    queue: `${queue}-b`,
  });
  expect(moved.body.tasks).toHaveLength(2);
  expect(moved.body.tasks.every((row: { changed: boolean }) => row.changed)).toBe(true);
  expect(await look(ids[0])).toMatchObject({ id: ids[0], queue: `${queue}-b`, state: 'ready' });
  const raised = await post('/v1/tasks/reprioritize', { ids: [ids[1], ids[0], '1'], priority: 3 });
  expect(raised.body.tasks).toHaveLength(2);
  expect(raised.body.tasks.every((row: { changed: boolean }) => row.changed)).toBe(true);
  expect(await claim()).toMatchObject([{ priority: 0 }, { priority: 3 }]);
});

test('a queue is purged, and can be dropped once it is paused', async () => {
  const { at, queue } = await dead('a');
  await post(`${at}/tasks`, { tasks: [{}, {}, { delay_seconds: 60 }] });
  const purged = await post(`${at}/purge`);
  expect(purged.body).toEqual({ ready: 2, waiting: 1, busy: 0, more: false });
  expect(await tock.send(`DELETE ${at}`)).toMatchObject({ status: 409 });
  await tock.send(`PUT ${at}`, { body: { paused: true } });
  const dropped = await tock.send(`DELETE ${at}`);
  expect(dropped.body).toEqual({ dropped: true, ready: 0, running: 0, waiting: 0 });
  expect(await tock.send(`DELETE ${at}`)).toMatchObject({ status: 404 });
  expect(await tock.send(`GET ${at}`)).toMatchObject({ status: 404 });
  await post(`/v1/queues/${queue}/tasks`, {});
  expect((await tock.send(`DELETE ${at}?force=true`)).body).toMatchObject({ dropped: true });
});

test("a key for one queue can neither change another queue's tasks nor move tasks there", async () => {
  const mine = await tock.makeKey(['enqueue', 'read', 'admin'], ['mine']);
  const { at, id, queue } = await dead('a');
  const [own] = (await post('/v1/queues/mine/tasks', {})).body.ids;
  const refused = async (route: string, body?: object) => {
    const reply = await tock.send(route, { body, key: mine });
    expect(reply, route).toMatchObject({ status: 403 });
  };
  await refused(`GET /v1/tasks?queue=${queue}`);
  await refused(`GET ${at}/dead`);
  await refused(`POST ${at}/redrive`, { to_queue: 'mine' });
  await refused('POST /v1/queues/mine/redrive', { to_queue: queue });
  await refused(`POST /v1/tasks/${id}/rerun`, {});
  await refused('POST /v1/tasks/rerun', { ids: [own, id] });
  await refused('POST /v1/tasks/move', { ids: [own], queue });
  await refused('POST /v1/tasks/reprioritize', { ids: [own, id], priority: 1 });
  await refused(`POST ${at}/cancel`, {});
  await refused(`POST ${at}/reprioritize`, { priority: 1 });
  await refused(`POST ${at}/purge`, {});
  await refused(`DELETE ${at}?force=true`);
  await post('/v1/tasks/move', { ids: [own], queue });
  // After the move the task is not in the key's queue any more.
  await refused(`GET /v1/tasks/${own}`);
  await refused(`POST /v1/tasks/${own}/cancel`, {});
  expect((await post('/v1/queues/mine/redrive', {}, mine)).body.redriven).toBe(0);
});
