import { expect, test } from 'vitest';
import type { Connect } from '../../functions/database/types.ts';
import { createApp } from '../../functions/http/app.ts';
import { fileService } from './file_service.ts';

const tock = fileService();
let queues = 0;

async function enqueue(task: object = {}): Promise<{ queue: string; id: string }> {
  const queue = `q${++queues}`;
  return { queue, id: (await tock.add(queue, task))[0] };
}

const end = async (queue: string, verb: string, body: object = {}) =>
  tock.post(`leases/${(await tock.claim(queue)).lease}/${verb}`, body);

/** Starts a waiting call. Returns after the call has polled a few times. */
async function waiting(id: string, seconds = 20, signal?: AbortSignal) {
  const from = tock.statements.length;
  const answer = tock.send(`GET /v1/tasks/${id}?wait_seconds=${seconds}`, signal ? { signal } : {});
  await expect.poll(() => tock.statements.length - from).toBeGreaterThan(3);
  return { answer };
}

test.each<[state: string, end: (queue: string, id: string) => Promise<unknown>]>([
  ['done', (queue, id) => end(queue, 'complete', { results: [{ id, result: [42] }] })],
  ['dead', (queue) => end(queue, 'fail', { fatal: true })],
  ['cancelled', (_, id) => tock.post(`tasks/${id}/cancel`)],
])('a waiting call is answered when its task is %s', async (state, end) => {
  const { queue, id } = await enqueue({ payload: 'p' });
  const { answer } = await waiting(id);
  await end(queue, id);
  const { status, body } = await answer;
  expect(status).toBe(200);
  expect(body).toMatchObject({ id, state, payload: 'p', ended_at: expect.any(String), runs: [{}] });
  expect(body.result).toEqual(state === 'done' ? [42] : null);
});

test('a waiting call is answered when its task expires', async () => {
  const { id } = await enqueue({ expires_in_seconds: 0.5 });
  const { body } = await tock.send(`GET /v1/tasks/${id}?wait_seconds=30`);
  expect(body).toMatchObject({ id, state: 'expired' });
});

test('a waiting call waits for a retried task until its final end', async () => {
  const { queue, id } = await enqueue();
  const { answer } = await waiting(id);
  await end(queue, 'fail', { retry_in_seconds: 0 });
  await end(queue, 'complete');
  expect((await answer).body).toMatchObject({ state: 'done', attempt: 2 });
});

test("when the time is up the call returns the task's state, after a few polls of one statement", async () => {
  const { queue, id } = await enqueue({ payload: 'whole' });
  await tock.claim(queue);
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

test('a call without a wait, or for a task that is unknown or has ended, sends one statement', async () => {
  const { queue, id } = await enqueue();
  const statuses: number[] = [];
  const from = tock.statements.length;
  for (const path of [id, `${id}?wait_seconds=0`, '1048577?wait_seconds=30'])
    statuses.push((await tock.send(`GET /v1/tasks/${path}`)).status);
  await end(queue, 'complete');
  expect((await tock.send(`GET /v1/tasks/${id}?wait_seconds=30`)).body.state).toBe('done');
  expect(statuses).toEqual([200, 200, 404]);
  // Two of them are the claim and the completion.
  expect(tock.statements.length - from).toBe(6);
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

test.each([1, 5])('with a limit of %i statements a waiting call sends no more', async (most) => {
  const { id } = await enqueue({ payload: 1 });
  const { sizes, body } = await looks(id, 10, most);
  expect(body).toMatchObject({ state: 'ready', payload: 1 });
  expect(sizes).toHaveLength(most);
});

test('a key without the scope read is refused at once', async () => {
  const { id } = await enqueue();
  const key = await tock.makeKey(['enqueue']);
  const refused = await tock.send(`GET /v1/tasks/${id}?wait_seconds=30`, { key });
  expect(refused.status).toBe(403);
});
