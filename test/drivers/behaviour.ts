import { afterAll, beforeAll, expect, test } from 'vitest';
import type { DriverDatabase } from './drivers.ts';
import { MAX_BYTES } from './neon_limits.ts';

type Send = (path: string, init: RequestInit) => Promise<Response>;

/** The app with one of the database drivers. */
export type Subject = {
  setting: DriverDatabase;
  door: Send;
  /** The same app and driver, but PostgreSQL cannot be reached. */
  lost: Send;
};

type Reply = { status: number; headers: Headers; text: string };

/** The tests that every driver must pass. */
export function testDriverBehaviour(open: () => Promise<Subject>): void {
  let subject: Subject;
  beforeAll(async () => {
    subject = await open();
  });
  afterAll(() => subject?.setting.drop());

  async function sendTo(door: Send, route: string, raw = '{}', key = subject.setting.key) {
    const [method = 'GET', path = '/'] = route.split(' ');
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const body = method === 'GET' ? null : raw;
    const response = await door(path, { method, headers, body });
    const { status, headers: got } = response;
    return { status, headers: got, text: await response.text() } satisfies Reply;
  }

  async function send(route: string, body: unknown = {}, key?: string) {
    const raw = typeof body === 'string' ? body : JSON.stringify(body);
    const reply = await sendTo(subject.door, route, raw, key);
    return { ...reply, body: JSON.parse(reply.text) };
  }

  test('a batch is enqueued, claimed and completed, once', async () => {
    const tasks = [{ payload: { n: 1, text: '😀 \' \\ "' } }, { payload: null }, {}];
    const enqueued = await send('POST /v1/queues/mail/tasks', { tasks, request_id: 'r1' });
    const { ids } = enqueued.body;
    expect([enqueued.status, ids.length]).toEqual([201, 3]);
    const again = await send('POST /v1/queues/mail/tasks', { tasks, request_id: 'r1' });
    expect(again.body).toEqual(enqueued.body);
    const claimed = await send('POST /v1/queues/mail/claim', { limit: 10, worker: 'w' });
    const claimedTasks: { id: string; payload: unknown }[] = claimed.body.tasks;
    expect(claimedTasks.map(({ id }) => id)).toEqual(ids);
    expect(claimedTasks[0]?.payload).toEqual(tasks[0]?.payload);
    const { lease } = claimed.body;
    const completed = await send(`POST /v1/leases/${lease}/complete`);
    expect(completed).toMatchObject({ status: 200, body: { completed: 3, refused: [] } });
    const task = await send(`GET /v1/tasks/${ids[2]}`);
    expect(task.body).toMatchObject({ state: 'done', runs: [{ worker: 'w' }] });
    expect((await send('POST /v1/queues/mail/claim')).body).toMatchObject({ lease: null });
  });

  test('a failed task keeps its error, and is dead if the error was fatal', async () => {
    const { ids } = (await send('POST /v1/queues/fail/tasks', { tasks: [{}, {}] })).body;
    const { lease } = (await send('POST /v1/queues/fail/claim', { limit: 2 })).body;
    const error = { name: 'Error', message: 'no' };
    const failures = [
      { id: ids[0], error, fatal: true },
      { id: ids[1], error, retry_in_seconds: 60 },
    ];
    const failed = await send(`POST /v1/leases/${lease}/fail`, { failures });
    expect(failed).toMatchObject({ status: 200, body: { failed: 2, dead: 1 } });
    expect((await send(`GET /v1/tasks/${ids[0]}`)).body).toMatchObject({ state: 'dead', error });
    expect((await send(`GET /v1/tasks/${ids[1]}`)).body).toMatchObject({ state: 'waiting' });
    expect(await send(`POST /v1/leases/${lease}/extend`)).toMatchObject({ status: 409 });
  });

  test('a refusal by SQL has a field and a hint', async () => {
    const task = { payload: 'x'.repeat(300_000) };
    expect(await send('POST /v1/queues/mail/tasks', { tasks: [{}, task] })).toMatchObject({
      status: 422,
      body: {
        type: '/errors/TK422',
        field: 'tasks[1].payload',
        detail: expect.stringContaining('262144 bytes'),
        hint: expect.stringMatching(/^Store large data elsewhere/),
      },
    });
  });

  test('an unknown key gets a 401 with a hint', async () => {
    const refused = await send('POST /v1/queues/mail/claim', {}, 'tock_unknown');
    expect(refused).toMatchObject({
      status: 401,
      body: { field: 'Authorization', hint: expect.stringMatching(/^Send Authorization: Bearer/) },
    });
    expect(refused.headers.get('www-authenticate')).toBe('Bearer');
  });

  test('numbers beyond 2^53 keep all their digits', async () => {
    const numbers = '[9007199254740993, 123456789012345678901234567890, 0.1000000000000000055511]';
    await send('POST /v1/queues/exact/tasks', `{"payload": ${numbers}}`);
    const claimed = await send('POST /v1/queues/exact/claim');
    expect(claimed.text).toContain(`"payload":${numbers}`);
  });

  test('a claim of large payloads arrives complete and under 10 MiB', async () => {
    const payload = 'x'.repeat(200_000);
    // The claim takes up to 4 MiB from the first stream, then some tasks from the next one.
    for (const priority of [1, 1, 2]) {
      const tasks = Array.from({ length: 20 }, () => ({ payload, priority }));
      await send('POST /v1/queues/much/tasks', { tasks });
    }
    const claimed = await send('POST /v1/queues/much/claim', { limit: 60 });
    expect(claimed.status).toBe(200);
    const claimedTasks = claimed.body.tasks as { payload: string }[];
    expect(claimedTasks.every((task) => task.payload === payload)).toBe(true);
    expect(claimed.text.length).toBeGreaterThan(4_000_000);
    expect(claimed.text.length).toBeLessThan(MAX_BYTES);
    const completed = await send(`POST /v1/leases/${claimed.body.lease}/complete`);
    expect(completed.body).toMatchObject({ completed: claimedTasks.length });
  });

  test('without the database the answer is a 503 with Retry-After and no internal details', async () => {
    const reply = await sendTo(subject.lost, 'POST /v1/queues/mail/claim');
    expect(reply.status).toBe(503);
    expect(reply.headers.get('retry-after')).toBe('1');
    expect(JSON.parse(reply.text)).toMatchObject({
      type: '/errors/TK503',
      hint: expect.stringContaining('request_id'),
    });
    expect(reply.text).not.toMatch(/ECONN|127\.0\.0\.1|neon|tock_edge|password|\bat /);
  });
}
