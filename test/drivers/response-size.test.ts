import { afterAll, beforeAll, expect, test } from 'vitest';
import { connect } from '../../functions/database/connect.ts';
import { createApp } from '../../functions/http/app.ts';
import { type DriverDatabase, startDriverDatabase } from './drivers.ts';
import { MAX_BYTES } from './neon_limits.ts';

let made: DriverDatabase;
beforeAll(async () => {
  made = await startDriverDatabase();
  await made.owner.query("select tock.put_queue('*', $1)", [{ max_payload_bytes: 4194304 }]);
});
afterAll(() => made.drop());

/** Enqueues the batches and claims as many tasks as it may. Returns the size of the claim's answer as Neon sends it. */
async function claimed(queue: string, batches: object[][]): Promise<number> {
  const app = createApp(connect);
  const headers = { authorization: `Bearer ${made.key}`, 'content-type': 'application/json' };
  const post = async (path: string, body: object) => {
    const init = { method: 'POST', headers, body: JSON.stringify(body) };
    const response = await app.request(path, init, made.env('pooled'));
    expect(response.status).toBeLessThan(300);
    return response.text();
  };
  for (const tasks of batches) await post(`/v1/queues/${queue}/tasks`, { tasks });
  const answer = await post(`/v1/queues/${queue}/claim`, { limit: 10_000 });
  expect(answer).toContain('"tasks":[{');
  // Neon sends the answer as a JSON string, where each quote and backslash takes two bytes.
  return Buffer.byteLength(JSON.stringify(answer)) + 1000;
}

function tasks(count: number, task: object): object[] {
  return Array.from({ length: count }, () => task);
}

test('one payload of the largest size, all backslashes, is claimed within 10 MiB', async () => {
  const bytes = await claimed('one', [[{ payload: '\\'.repeat(2_097_000) }]]);
  expect(bytes).toBeGreaterThan(8_000_000);
  expect(bytes).toBeLessThan(MAX_BYTES);
});

test('large payloads, all backslashes, are claimed within 10 MiB', async () => {
  const payload = '\\'.repeat(100_000);
  const batches = [1, 1, 2].map((priority) => tasks(24, { payload, priority }));
  expect(await claimed('large', batches)).toBeLessThan(MAX_BYTES);
});

test('tenants of control characters are claimed within 10 MiB', async () => {
  const tenant = '\u0001'.repeat(200);
  const batches = [1, 2].map((priority) => tasks(3500, { tenant, priority }));
  expect(await claimed('tenants', batches)).toBeLessThan(MAX_BYTES);
});

test('the largest claim from 64 streams is within 10 MiB', async () => {
  const payload = (bytes: number) => '\\'.repeat(bytes / 2);
  const lanes = (priority: number) =>
    Array.from({ length: 40 }, (_, n) => ({ payload: payload(5_900), priority, tenant: `t${n}` }));
  const batches = [
    [{ payload: payload(4_194_000), priority: 0 }],
    tasks(20, { payload: payload(50_000), priority: 1 }),
    ...[2, 3, 4, 5, 6, 7, 8, 9].map(lanes),
  ];
  const bytes = await claimed('most', batches);
  expect(bytes).toBeGreaterThan(9_500_000);
  expect(bytes).toBeLessThan(MAX_BYTES);
});
