import type pg from 'pg';
import { expect, test } from 'vitest';
import { client, databasePerFile, db } from '../test_database.ts';
import {
  claim,
  complete,
  enqueue,
  expire,
  leaseOf,
  numberedTasks,
  reap,
  refusal,
  rows,
} from '../verbs.ts';
import { overlapping, spreadTasks } from './sessions.ts';

databasePerFile();

test('a call to enqueue repeated with its request id gives the same ids and no new tasks', async () => {
  const first = await enqueue(client, 'again', numberedTasks(3), 'r1');
  expect(await enqueue(client, 'again', numberedTasks(3), 'r1')).toEqual(first);
  expect(await enqueue(client, 'again', numberedTasks(3), 'r2')).not.toEqual(first);
  expect(await claim(client, 'again', { limit: 10 })).toHaveLength(6);
});

test('two calls at once with one request id make their tasks once', async () => {
  const call = (on: pg.Client) => enqueue(on, 'at-once', numberedTasks(2), 'same');
  const [first, second] = await overlapping(call, call);
  expect(second).toEqual(first);
  expect(await claim(client, 'at-once', { limit: 10 })).toHaveLength(2);
});

test('two hundred calls on eight connections with twenty request ids make twenty tasks', async () => {
  const made = new Set<string>();
  await Promise.all(
    Array.from({ length: 8 }, async (_, n) => {
      const on = await db.connect();
      for (let call = 0; call < 25; call++) {
        const request = `r${(call + n * 3) % 20}`;
        made.add(`${request} ${await enqueue(on, 'many', [{ payload: request }], request)}`);
      }
    }),
  );
  expect(made.size).toBe(20);
  expect(await claim(client, 'many', { limit: 1000 })).toHaveLength(20);
});

test('a request id used for a different call is refused', async () => {
  await enqueue(client, 'changed', numberedTasks(2), 'r1');
  const refused = await refusal(enqueue(client, 'changed', numberedTasks(3), 'r1'));
  expect(refused).toMatchObject({ code: 'TK422', detail: 'request_id' });
  expect(await claim(client, 'changed', { limit: 10 })).toHaveLength(2);
});

test('a call is the same call from a session with another time zone and another precision', async () => {
  const tomorrow = new Date(Date.now() + 86_400_000).toISOString();
  const call = async (settings: string[]) => {
    const connection = await db.connect();
    for (const setting of settings) await connection.query(`set ${setting}`);
    const later = "p_delay_seconds => 0.1::float8 + 0.2, p_request_id => 'later'";
    const at = `p_run_at => timestamptz '${tomorrow}', p_request_id => 'at'`;
    return rows(
      connection,
      `select tock.enqueue_task('set', ${later}), tock.enqueue_task('set', ${at}) as at`,
    );
  };
  const first = await call(["time zone 'UTC'", 'extra_float_digits = 1']);
  expect(await call(["time zone 'Asia/Kathmandu'", 'extra_float_digits = 0'])).toEqual(first);
  expect(await call(["datestyle = 'SQL, DMY'", 'extra_float_digits = 3'])).toEqual(first);
});

test('a call that differs only in its trace is the same call, and one with another task is not', async () => {
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
  const call = (headers: unknown, payload: number) =>
    enqueue(client, 'traced', [{ payload: 1, headers }, { payload }], 'r');
  const first = await call({ traceparent }, 2);
  for (const headers of [undefined, null, {}, { tracestate: 'a=1' }]) {
    expect(await call(headers, 2)).toEqual(first);
    expect(await refusal(call(headers, 3))).toMatchObject({ detail: 'request_id' });
  }
  expect(await refusal(call({ traceparent }, 3))).toMatchObject({ detail: 'request_id' });
});

test('a request id that was rolled back may be used again', async () => {
  await client.query('begin');
  await enqueue(client, 'undone', numberedTasks(1), 'r1');
  await client.query('rollback');
  const [id] = await enqueue(client, 'undone', numberedTasks(1), 'r1');
  expect((await claim(client, 'undone', { limit: 10 })).map((run) => run.id)).toEqual([id]);
});

test('a request id belongs to its queue and its verb', async () => {
  const first = await enqueue(client, 'one', numberedTasks(1), 'shared');
  const other = await enqueue(client, 'other', numberedTasks(1), 'shared');
  expect(first).not.toEqual(other);
  expect(await claim(client, 'one', { request_id: 'shared' })).toHaveLength(1);
});

test.each(['', 'x'.repeat(201)])('%j is no request id', async (id) => {
  const refused = await refusal(enqueue(client, 'bad', [{}], id));
  expect(refused).toMatchObject({ code: 'TK422', detail: 'request_id' });
});

test.each([1, 3])(
  'a claim of %i repeated with its request id gives the same runs while they are held',
  async (limit) => {
    const queue = `claims-${limit}`;
    await enqueue(client, queue, numberedTasks(10));
    const options = { limit, worker: 'w', lease_seconds: 60, request_id: 'c1' };
    const first = await claim(client, queue, options);
    expect(first).toHaveLength(limit);
    expect(await claim(client, queue, options)).toEqual(first);
    const other = await claim(client, queue, { ...options, request_id: 'c2' });
    expect(other.map((run) => run.payload)).toEqual(
      [0, 1, 2].slice(0, limit).map((n) => n + limit),
    );
    for (const changed of [{ limit: 4 - limit }, { worker: 'v' }, { lease_seconds: 61 }]) {
      const refused = await refusal(claim(client, queue, { ...options, ...changed }));
      expect(refused).toMatchObject({ code: 'TK422', detail: 'request_id' });
    }
  },
);

test('a repeated claim over several priorities gives the runs in the same order', async () => {
  await enqueue(client, 'orders', spreadTasks(30, 3, 7));
  const call = () => claim(client, 'orders', { limit: 30, request_id: 'c' });
  const [first, again] = [await call(), await call()];
  expect(first).toHaveLength(30);
  expect(new Set(again.map((run) => run.run_id))).toEqual(new Set(first.map((run) => run.run_id)));
  expect(again.map((run) => run.priority)).toEqual(first.map((run) => run.priority));
});

test('a claim repeated after its lease has ended is refused with that reason', async () => {
  await enqueue(client, 'ended', numberedTasks(2));
  const done = await claim(client, 'ended', { request_id: 'done' });
  await complete(client, leaseOf(done));
  expect((await refusal(claim(client, 'ended', { request_id: 'done' }))).code).toBe('TK409');
  const lost = await claim(client, 'ended', { request_id: 'lost' });
  await expire(client, leaseOf(lost));
  await reap(client);
  expect((await refusal(claim(client, 'ended', { request_id: 'lost' }))).code).toBe('TK409');
});

test('an empty claim keeps no request id', async () => {
  expect(await claim(client, 'empty', { request_id: 'c' })).toEqual([]);
  await enqueue(client, 'empty', numberedTasks(1));
  expect(await claim(client, 'empty', { request_id: 'c' })).toHaveLength(1);
});

test('two claims at once with one request id hold the same runs', async () => {
  await enqueue(client, 'twice', numberedTasks(10));
  const call = (on: pg.Client) => claim(on, 'twice', { limit: 2, request_id: 'c' });
  const [first, second] = await overlapping(call, call);
  expect(second.map((run) => run.run_id)).toEqual(first.map((run) => run.run_id));
});
