import { expect, test } from 'vitest';
import { backdateSchedule } from '../sql/features/schedules/schedules.ts';
import { fileService } from './file_service.ts';

const tock = fileService();

const path = '/v1/schedules/nightly';
const routesOf = (path: string) => [
  ...[`GET ${path}`, `GET ${path}/fires`, `GET ${path}/next`, `DELETE ${path}`],
  ...['pause', 'resume', 'run'].map((verb) => `POST ${path}/${verb}`),
];
const settings = {
  queue: 'reports',
  cron: '0 3 * * *',
  time_zone: 'Europe/Berlin',
  payload: { kind: 'nightly', big: 12345678901234567890n.toString() },
  options: { priority: 2 },
};

test('a schedule is put, shown, listed, paused, resumed, run and dropped', async () => {
  const made = await tock.send(`PUT ${path}`, { body: settings });
  expect(made).toMatchObject({
    status: 200,
    body: { name: 'nightly', state: 'active', ...settings, last_task_id: null, failures: 0 },
  });
  expect((await tock.send(`PUT ${path}`, { body: settings })).body).toEqual(made.body);
  expect((await tock.send(`GET ${path}`)).body).toEqual(made.body);
  const list = await tock.send('GET /v1/schedules?queue=reports&limit=10');
  expect(list.body.schedules).toMatchObject([{ name: 'nightly', cron: '0 3 * * *' }]);
  expect(list.body.schedules[0]).not.toHaveProperty('payload');
  const next = await tock.send(`GET ${path}/next?count=2`);
  expect(next.body.fires[0].fire_at).toBe(made.body.next_fire_at);
  expect((await tock.post('schedules/nightly/pause')).body).toMatchObject({ state: 'paused' });
  const run = await tock.post('schedules/nightly/run', { request_id: 'r' });
  const again = await tock.send(`POST ${path}/run`, { headers: { 'Idempotency-Key': 'r' } });
  expect(again.body).toEqual(run.body);
  const resumed = { state: 'active', last_task_id: run.body.id };
  expect((await tock.post('schedules/nightly/resume')).body).toMatchObject(resumed);
  const { fires } = (await tock.send(`GET ${path}/fires`)).body;
  expect(fires).toMatchObject([{ outcome: 'run', task_id: run.body.id }]);
  const before = await tock.send(`GET ${path}/fires?before=${fires[0].number}`);
  expect(before.body.fires).toEqual([]);
  const task = async (id: string, key?: string) =>
    (await tock.send(`GET /v1/tasks/${id}`, key ? { key } : {})).body;
  expect(await task(run.body.id)).toMatchObject({ state: 'ready', schedule: 'nightly' });
  expect(await task((await tock.add('reports'))[0])).toMatchObject({ schedule: null });
  expect((await tock.send(`DELETE ${path}`)).body).toEqual({ dropped: true });
  for (const route of routesOf(path)) expect((await tock.send(route)).status, route).toBe(404);
});

test('POST /v1/tick fires due schedules without pg_cron, and returns when the next is due', async () => {
  const at = '/v1/schedules/ticked';
  await tock.send(`PUT ${at}`, { body: { queue: 'ticked', every_seconds: 3600, fire_as: 'fire' } });
  await backdateSchedule(tock.owner, 'ticked', 10);
  const due = (await tock.send(`GET ${at}`)).body.next_fire_at;
  const tick = await tock.send('POST /v1/tick', { body: {} });
  const after = (await tock.send(`GET ${at}`)).body;
  expect(new Date(tick.body.next_wake_at)).toEqual(new Date(after.next_fire_at));
  const claimed = await tock.send('POST /v1/queues/ticked/claim', { body: {} });
  const [{ id, payload }] = claimed.body.tasks;
  expect(after).toMatchObject({ last_outcome: 'fired', last_task_id: id, last_fire_at: due });
  expect(payload.fire.schedule).toBe('ticked');
  expect(new Date(payload.fire.fire_at)).toEqual(new Date(due));
});

test('a key for some queues may use only schedules that fire into these, with all stages', async () => {
  const mine = await tock.makeKey(['admin', 'read'], ['mine', 'stage']);
  const send = (route: string, body?: unknown) => tock.send(route, { body, key: mine });
  const put = (queue: string, more = {}) =>
    send('PUT /v1/schedules/a', { queue, cron: '@daily', ...more });
  expect((await put('other')).status).toBe(403);
  expect((await put('mine', { options: { pipeline: ['mine', 'other'] } })).status).toBe(403);
  expect((await put('mine', { options: { pipeline: ['mine', 'stage'] } })).status).toBe(200);
  await tock.send('PUT /v1/schedules/b', { body: { queue: 'other', cron: '@daily' } });
  // The key may not take over a schedule that fires into another queue.
  const taken = await send('PUT /v1/schedules/b', { queue: 'mine', cron: '@daily' });
  expect(taken.status).toBe(403);
  const lists = ['GET /v1/schedules', 'GET /v1/schedules?queue=other'];
  for (const route of [...routesOf('/v1/schedules/b'), ...lists])
    expect((await send(route)).status, route).toBe(403);
  const { schedules } = (await send('GET /v1/schedules?queue=mine')).body;
  expect(schedules).toMatchObject([{ name: 'a' }]);
  expect((await send('DELETE /v1/schedules/a')).status).toBe(200);
  const reader = await tock.makeKey(['read']);
  expect((await tock.send(`PUT ${path}`, { body: settings, key: reader })).status).toBe(403);
});
