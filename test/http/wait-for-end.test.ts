import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Connect } from '../../functions/database/types.ts';
import { createApp } from '../../functions/http/app.ts';
import { type Service, service } from './service.ts';

let tock: Service;
let queues = 0;
beforeAll(async () => {
  tock = await service();
});
afterAll(() => tock.database.drop());

async function enqueue(task: object = {}): Promise<{ queue: string; id: string }> {
  const queue = `q${++queues}`;
  const { body } = await tock.send(`POST /v1/queues/${queue}/tasks`, { body: task });
  return { queue, id: body.ids[0] };
}

async function claimed(queue: string): Promise<string> {
  return (await tock.send(`POST /v1/queues/${queue}/claim`, { body: {} })).body.lease;
}

/** Starts a waiting call. Returns after the call has polled a few times. */
async function waiting(id: string, seconds = 20, signal?: AbortSignal) {
  const from = tock.statements.length;
  const answer = tock.send(`GET /v1/tasks/${id}?wait_seconds=${seconds}`, signal ? { signal } : {});
  await expect.poll(() => tock.statements.length - from).toBeGreaterThan(3);
  return { answer };
}

test.each<[state: string, end: (queue: string, id: string) => Promise<unknown>]>([
  [
    'done',
    async (queue, id) => {
      const body = { results: [{ id, result: [42] }] };
      await tock.send(`POST /v1/leases/${await claimed(queue)}/complete`, { body });
    },
  ],
  [
    'dead',
    async (queue) =>
      tock.send(`POST /v1/leases/${await claimed(queue)}/fail`, { body: { fatal: true } }),
  ],
  ['cancelled', (_, id) => tock.send(`POST /v1/tasks/${id}/cancel`, { body: {} })],
])('a waiting call is answered when its task is %s', async (state, end) => {
  const { queue, id } = await enqueue({ payload: 'p' });
  const { answer } = await waiting(id);
  await end(queue, id);
  const { status, body } = await answer;
  expect(status).toBe(200);
  expect(body).toMatchObject({ id, state, payload: 'p', ended_at: expect.any(String) });
  expect(body.result).toEqual(state === 'done' ? [42] : null);
  expect(body.runs).toHaveLength(1);
});

test('a waiting call is answered when its task expires', async () => {
  const { id } = await enqueue({ expires_in_seconds: 0.5 });
  const { body } = await tock.send(`GET /v1/tasks/${id}?wait_seconds=30`);
  expect(body).toMatchObject({ id, state: 'expired' });
});

test('a waiting call waits for a retried task until its final end', async () => {
  const { queue, id } = await enqueue();
  const { answer } = await waiting(id);
  await tock.send(`POST /v1/leases/${await claimed(queue)}/fail`, {
    body: { retry_in_seconds: 0 },
  });
  await tock.send(`POST /v1/leases/${await claimed(queue)}/complete`, { body: {} });
  expect((await answer).body).toMatchObject({ state: 'done', attempt: 2 });
});

test("when the time is up the call returns the task's state, after a few polls of one statement", async () => {
  const { queue, id } = await enqueue({ payload: 'whole' });
  await claimed(queue);
  const from = tock.statements.length;
  const { status, body } = await tock.send(`GET /v1/tasks/${id}?wait_seconds=2`);
  expect(status).toBe(200);
  expect(body).toMatchObject({ state: 'running', payload: 'whole', runs: [{ state: 'running' }] });
  const sent = tock.statements.slice(from);
  const again = / p_again => true,/;
  expect(new Set(sent.map(({ text }) => text.replace(again, ''))).size).toBe(1);
  // It polls 10 times in the first fifth of a second. After that each pause is a tenth of the time waited, with jitter.
  expect(sent.length).toBeLessThanOrEqual(60);
});

test.each(['', '?wait_seconds=0'])(
  'a call without a wait sends one statement: %s',
  async (query) => {
    const { id } = await enqueue({ payload: 1 });
    const from = tock.statements.length;
    const { body } = await tock.send(`GET /v1/tasks/${id}${query}`);
    expect(body).toMatchObject({ state: 'ready', payload: 1, runs: [{}] });
    expect(tock.statements.length - from).toBe(1);
  },
);

test.each([
  ['unknown', async () => '1048577'],
  [
    'ended',
    async () => {
      const { queue, id } = await enqueue();
      await tock.send(`POST /v1/leases/${await claimed(queue)}/complete`, { body: {} });
      return id;
    },
  ],
])('a waiting call is answered at once for a task that is %s', async (what, made) => {
  const id = await made();
  const from = tock.statements.length;
  const { status } = await tock.send(`GET /v1/tasks/${id}?wait_seconds=30`);
  expect(status).toBe(what === 'unknown' ? 404 : 200);
  expect(tock.statements.length - from).toBe(1);
});

test('a waiting call ends when its client disconnects', async () => {
  const { id } = await enqueue();
  const client = new AbortController();
  const { answer } = await waiting(id, 30, client.signal);
  client.abort();
  // The call ends at once. If it waited for its 30 s, the test would time out.
  await answer.catch(() => {});
});

/** Sends a waiting call with at most `most` polls. Returns the length of each poll's row, and the answer. */
async function looks(id: string, seconds: number, most?: number) {
  const sizes: number[] = [];
  const connect: Connect = (env, use) =>
    tock.connect(env, (query) =>
      use(async (text, values) => {
        const rows = await query(text, values);
        sizes.push(JSON.stringify(rows).length);
        return rows;
      }, most),
    );
  const headers = { authorization: `Bearer ${tock.key}` };
  const path = `/v1/tasks/${id}?wait_seconds=${seconds}`;
  const response = await createApp(connect).request(path, { headers });
  // biome-ignore lint/suspicious/noExplicitAny: a test looks at whatever came
  return { sizes, body: (await response.json()) as any };
}

test('only the last poll reads the payload', async () => {
  const { id } = await enqueue({ payload: 'x'.repeat(200_000) });
  const { sizes, body } = await looks(id, 5);
  expect(body.payload).toHaveLength(200_000);
  expect(sizes.at(-1)).toBeGreaterThan(200_000);
  expect(sizes.length).toBeGreaterThan(1);
  for (const size of sizes.slice(0, -1)) expect(size).toBeLessThan(1000);
});

test.each([1, 2, 5])('with a limit of %i statements a waiting call sends no more', async (most) => {
  const { id } = await enqueue({ payload: 1 });
  const { sizes, body } = await looks(id, 10, most);
  expect(body).toMatchObject({ state: 'ready', payload: 1 });
  expect(sizes).toHaveLength(most);
});

test('a key without the scope read is refused at once', async () => {
  const { id } = await enqueue();
  const key = await tock.makeKey(['enqueue']);
  expect(await tock.send(`GET /v1/tasks/${id}?wait_seconds=30`, { key })).toMatchObject({
    status: 403,
  });
});
