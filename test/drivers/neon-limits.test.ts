import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { connect } from '../../functions/database/connect.ts';
import type { Connect } from '../../functions/database/types.ts';
import { createApp } from '../../functions/http/app.ts';
import { type DriverDatabase, type DriverName, startDriverDatabase } from './drivers.ts';
import { MAX_BYTES } from './neon_limits.ts';

let made: DriverDatabase;
beforeAll(async () => {
  made = await startDriverDatabase();
  await made.owner.query("select tock.put_queue('large', $1)", [{ max_payload_bytes: 4194304 }]);
});
afterAll(() => made.drop());

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
  return { status: response.status, body: await response.json() };
}

test("the stand-in for Neon's proxy accepts one statement per request", async () => {
  expect(await ask('select 1 as one')).toEqual([{ one: 1 }]);
  await expect(ask('select 1 as one; select 2 as two')).rejects.toMatchObject({
    code: '42601',
    message: 'cannot insert multiple commands into a prepared statement',
  });
});

test("the stand-in for Neon's proxy keeps no session: no setting, table, lock or statement", async () => {
  await ask("set application_name = 'mine'");
  await ask('create temp table mine (n integer)').catch(() => {});
  await ask('select pg_advisory_lock(4711)');
  await ask('prepare mine as select 1');
  const [left] = await ask(`
    select current_setting('application_name') = 'mine' as setting,
      to_regclass('pg_temp.mine') is not null as table,
      exists (select from pg_locks where locktype = 'advisory' and objid = 4711) as lock,
      exists (select from pg_prepared_statements where name = 'mine') as statement`);
  expect(left).toEqual({ setting: false, table: false, lock: false, statement: false });
});

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
  expect(await send('neon-http', tasks, most)).toMatchObject({
    status: 413,
    body: {
      type: '/errors/TK413',
      field: 'body',
      hint: expect.stringMatching(/^Split/),
    },
  });
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
  expect(
    await send('neon-http', 'POST /v1/queues/none/claim', '{"wait_seconds": 3}'),
  ).toMatchObject({ status: 200, body: { state: 'empty' } });
  expect(performance.now() - started).toBeGreaterThan(2900);
  const sent = made.bridge.requests.length - from;
  expect(sent).toBeGreaterThan(1);
  expect(sent).toBeLessThanOrEqual(45);
});
