import { afterAll, beforeAll, expect, test } from 'vitest';
import { anyPort } from '../../scripts/stack/ports.ts';
import { healthy, startWorker, type Worker } from '../../scripts/stack/worker.ts';
import { type Database, freshDatabase } from '../database.ts';
import { makeMaintenanceDue, value, waitUntil } from '../sql/verbs.ts';
import { removeHome, temporaryHome } from '../stack/start_process.ts';

const home = temporaryHome();
let database: Database;
let worker: Worker;
let url: string;
let key: string;

beforeAll(async () => {
  process.env.TOCK_HOME = home;
  database = await freshDatabase();
  const owner = await database.connect();
  key = await value(owner, "select key from tock.create_key('w', '{enqueue,claim,read}')");
  const port = await anyPort();
  url = `http://127.0.0.1:${port}`;
  worker = startWorker(port, database.poolUrl ?? database.edgeUrl);
  await healthy(url, worker, new AbortController().signal);
});

afterAll(async () => {
  await worker?.stop();
  await database?.drop();
  removeHome(home);
});

async function post(path: string, body: unknown = {}) {
  const response = await fetch(`${url}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  return { status: response.status, body: await response.json() };
}

test('a task goes through workerd and PgBouncer', async () => {
  const payload = { n: 1, text: '😀' };
  const enqueued = await post('/v1/queues/worker/tasks', { payload });
  expect(enqueued).toMatchObject({ status: 201, body: { ids: [expect.any(String)] } });
  const claimed = await post('/v1/queues/worker/claim', { worker: 'w' });
  expect(claimed.body.tasks).toMatchObject([{ id: enqueued.body.ids[0], payload }]);
  const completed = await post(`/v1/leases/${claimed.body.lease}/complete`);
  expect(completed).toEqual({ status: 200, body: { completed: 1, refused: [] } });
});

test('one call through workerd enqueues 10,000 tasks, and one claims them', async () => {
  const tasks = Array.from({ length: 10_000 }, (_, n) => ({ payload: n }));
  const enqueued = await post('/v1/queues/many/tasks', { tasks });
  expect(enqueued.body.ids).toHaveLength(10_000);
  const seen = new Set<number>();
  while (seen.size < 10_000) {
    const { body } = await post('/v1/queues/many/claim', { limit: 10_000 });
    expect(body.tasks.length).toBeGreaterThan(0);
    for (const task of body.tasks) seen.add(task.payload);
    await post(`/v1/leases/${body.lease}/complete`);
  }
});

test('a refusal in workerd is a problem document', async () => {
  const refused = await post('/v1/queues/worker/tasks', { tasks: [{ priority: 99 }] });
  expect(refused).toMatchObject({ status: 422, body: { field: 'tasks[0].priority' } });
  const large = await post('/v1/queues/worker/tasks', { payload: 'x'.repeat(6_000_000) });
  expect(large).toMatchObject({ status: 413, body: { field: 'body' } });
  const response = await fetch(`${url}/openapi.json`);
  expect(await response.json()).toMatchObject({ openapi: '3.1.0' });
});

const ok = 'select count(*)::int from tock.maintenance_jobs where last_ok_at is not null';

test('a cron trigger ticks', async () => {
  const owner = await database.connect();
  const hourly = '{"queue": "timed", "every_seconds": 3600}';
  await owner.query("select tock.put_schedule('timed', $1)", [hourly]);
  await owner.query(
    "update tock.schedule_next_fires set fire_at = now(), due_at = now() where schedule = 'timed'",
  );
  await makeMaintenanceDue(owner);
  const fired = "select last_outcome from tock.schedule('timed')";
  // A tick of the alarm may have looked at the schedules just before.
  await waitUntil('the schedule has fired', async () => {
    const response = await fetch(`${url}/cdn-cgi/handler/scheduled`);
    expect(response.status).toBe(200);
    return (await value(owner, fired)) === 'fired';
  });
  expect(await value(owner, ok)).toBeGreaterThan(0);
});

test('a call that changes data notifies the alarm, which ticks', async () => {
  const owner = await database.connect();
  await makeMaintenanceDue(owner);
  await post('/v1/queues/later/tasks', { payload: 1, delay_seconds: 1 });
  await waitUntil('a job has run', async () => (await value<number>(owner, ok)) > 0);
});
