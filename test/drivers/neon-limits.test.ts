import { beforeAll, expect, test, vi } from 'vitest';
import { connect } from '../../functions/database/connect.ts';
import type { Connect } from '../../functions/database/types.ts';
import { createApp } from '../../functions/http/app.ts';
import { type DriverName, made, useDriverDatabase } from './drivers.ts';
import { MAX_BYTES } from './neon_limits.ts';

useDriverDatabase();
beforeAll(async () => {
  await made.owner.query("select tock.put_queue('*', $1)", [{ max_payload_bytes: 4194304 }]);
});

const log = vi.spyOn(console, 'error').mockImplementation(() => {});

/** Runs one statement, as one request of a Worker. */
function ask(text: string, values: unknown[] = [], way: DriverName = 'neon-http') {
  return connect(made.env(way), (query) => query(text, values));
}

async function send(way: DriverName, route: string, body?: string) {
  const app = createApp(connect);
  const [method = '', path = ''] = route.split(' ');
  const headers = { authorization: `Bearer ${made.key}`, 'content-type': 'application/json' };
  const response = await app.request(path, { method, headers, body: body ?? null }, made.env(way));
  const text = await response.text();
  return { status: response.status, text, body: JSON.parse(text) };
}

test('a request over 10 MiB to Neon is refused with an error that says so', async () => {
  // The statement and the JSON around the value take less than 100 bytes.
  const fits = 'x'.repeat(MAX_BYTES - 100);
  const size = 'select octet_length($1::text) as n';
  expect(await ask(size, [fits])).toEqual([{ n: fits.length }]);
  const over = ask(size, [`${fits}${'x'.repeat(100)}`]);
  await expect(over).rejects.toMatchObject({ code: 'TK413', detail: 'body' });
  expect(made.bridge.requests.at(-1)).toMatchObject({ status: 413, text: '' });
});

test('an answer over 10 MiB from Neon is refused with an error that says so', async () => {
  const repeat = "select repeat('x', $1::integer) as text";
  const [row] = await ask(repeat, [MAX_BYTES - 300]);
  expect(row?.text).toHaveLength(MAX_BYTES - 300);
  await expect(ask(repeat, [MAX_BYTES])).rejects.toMatchObject({ code: 'TK507' });
  const [whole] = await ask(repeat, [MAX_BYTES], 'neon-ws');
  expect(whole?.text).toHaveLength(MAX_BYTES);
});

test('a body over 10 MiB after escaping gives a 413 with neon-http, and fits the other drivers', async () => {
  const two = (length: number) => {
    const payload = '\\'.repeat(length);
    return `{"tasks":[{"payload":"${payload}"},{"payload":"${payload}"}]}`;
  };
  const tasks = 'POST /v1/queues/large/tasks';
  expect(await send('neon-http', tasks, two(2_621_000))).toMatchObject({ status: 201 });
  const most = two(2_621_400);
  const body = { type: '/errors/TK413', field: 'body', hint: expect.stringMatching(/^Split/) };
  expect(await send('neon-http', tasks, most)).toMatchObject({ status: 413, body });
  expect(await send('neon-ws', tasks, most)).toMatchObject({ status: 201 });
});

test('an answer over 10 MiB gives a 507 that says so', async () => {
  const large: Connect = (_env, use) =>
    connect(made.env('neon-http'), (query) =>
      use(() => query("select repeat('\\', 5300000) as body")),
    );
  log.mockClear();
  const headers = { authorization: `Bearer ${made.key}` };
  const reply = await createApp(large).request('/v1/queues', { headers });
  expect(reply.status).toBe(507);
  expect(await reply.json()).toMatchObject({
    type: '/errors/TK507',
    detail: expect.stringContaining('10 MiB'),
    hint: expect.stringMatching(/^Request less/),
  });
  expect(log).toHaveBeenCalledOnce();
});

test('a waiting claim sends at most the 50 requests that a Worker may send', async () => {
  const from = made.bridge.requests.length;
  const started = performance.now();
  const reply = await send('neon-http', 'POST /v1/queues/none/claim', '{"wait_seconds": 3}');
  expect(reply).toMatchObject({ status: 200, body: { state: 'empty' } });
  expect(performance.now() - started).toBeGreaterThan(2900);
  const sent = made.bridge.requests.length - from;
  expect(sent).toBeGreaterThan(1);
  expect(sent).toBeLessThanOrEqual(45);
});

const tasks = (count: number, task: object): object[] => Array(count).fill(task);
const slashes = (bytes: number) => '\\'.repeat(bytes / 2);
const lanes = (priority: number) =>
  Array.from({ length: 40 }, (_, n) => ({ payload: slashes(5_900), priority, tenant: `t${n}` }));

test.each<[what: string, batches: object[][], least: number]>([
  ['one payload of the largest size', [[{ payload: slashes(4_194_000) }]], 8_000_000],
  [
    'large payloads',
    [1, 1, 2].map((priority) => tasks(24, { payload: slashes(200_000), priority })),
    0,
  ],
  [
    'tenants of control characters',
    [1, 2].map((priority) => tasks(3500, { tenant: '\u0001'.repeat(200), priority })),
    0,
  ],
  [
    'the most from 64 streams',
    [
      [{ payload: slashes(4_194_000), priority: 0 }],
      tasks(20, { payload: slashes(50_000), priority: 1 }),
      ...[2, 3, 4, 5, 6, 7, 8, 9].map(lanes),
    ],
    9_500_000,
  ],
])('a claim of %s is within 10 MiB', async (what, batches, least) => {
  const queue = `/v1/queues/${what.replaceAll(' ', '-')}`;
  for (const some of batches) {
    const body = JSON.stringify({ tasks: some });
    expect((await send('pooled', `POST ${queue}/tasks`, body)).status).toBe(201);
  }
  const { text } = await send('pooled', `POST ${queue}/claim`, '{"limit": 10000}');
  expect(text).toContain('"tasks":[{');
  // Neon sends the answer as a JSON string, where each quote and backslash takes two bytes.
  const bytes = Buffer.byteLength(JSON.stringify(text)) + 1000;
  expect(bytes).toBeGreaterThan(least);
  expect(bytes).toBeLessThan(MAX_BYTES);
});
