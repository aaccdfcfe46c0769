import type pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Database, freshDatabase } from '../../database.ts';
import { refusal, rows, value } from '../verbs.ts';

let db: Database;
let client: pg.Client;

beforeAll(async () => {
  db = await freshDatabase();
  client = await db.connect();
});

afterAll(() => db.drop());

type Key = { key: string; prefix: string };

// The window is a day, so a test stays within one, except at midnight.
const make = async (limit: number, seconds = 86_400) =>
  (
    await rows<Key>(
      client,
      "select * from tock.create_key('k', '{enqueue,claim}', p_rate_limit => $1, p_rate_seconds => $2)",
      [limit, seconds],
    )
  )[0] as Key;
const enqueue = (key: string, on: pg.Client = client) =>
  value(on, "select tock.http_enqueue($1, 'q', '{}', null)", [key]);
const counter = ({ prefix }: Key) => `tock.rate_${prefix.slice(5)}`;
const count = (key: Key) =>
  value<number>(client, `select (last_value & 1048575)::int from ${counter(key)}`);
/** Makes the key's counter belong to the window before. */
const turn = (key: Key) =>
  client.query(
    `select setval($1, ((last_value >> 20) - 1) << 20 | last_value & 1048575) from ${counter(key)}`,
    [counter(key)],
  );
const crowd = (size: number) => Promise.all(Array.from({ length: size }, () => db.connect()));

/** The number of calls that succeeded. The others must all be refused with TK429. */
async function passed(clients: pg.Client[], calls: number, key: string): Promise<number> {
  let through = 0;
  const codes = new Set<string>();
  await Promise.all(
    clients.map(async (connection) => {
      for (let n = 0; n < calls; n++) {
        await enqueue(key, connection).then(
          () => through++,
          (error) => codes.add(error.code),
        );
      }
    }),
  );
  expect([...codes]).toEqual(['TK429']);
  return through;
}

test('a key over its rate gets its limit and the time to retry', async () => {
  const key = await make(2);
  await enqueue(key.key);
  await enqueue(key.key);
  const before = await value(client, 'select count(*)::int from tock.runs');
  const refused = await refusal(enqueue(key.key));
  expect(refused).toMatchObject({
    code: 'TK429',
    message: 'this key has used up its rate of 2 requests in 86400 seconds',
    hint: expect.stringMatching(/^try again in \d+ seconds$/),
  });
  const seconds = Number(/\d+/.exec(refused.hint)?.[0]);
  expect(seconds).toBeGreaterThan(0);
  expect(seconds).toBeLessThanOrEqual(86_400);
  expect(await value(client, 'select count(*)::int from tock.runs')).toBe(before);
  await turn(key);
  await enqueue(key.key);
  expect(await count(key)).toBe(1);
});

test('fifty concurrent connections stay within the rate, also at the turn of a window', async () => {
  const clients = await crowd(50);
  const key = await make(60);
  expect(await passed(clients, 3, key.key)).toBe(60);
  for (let round = 0; round < 5; round++) {
    await turn(key);
    expect(await passed(clients, 3, key.key)).toBe(60);
  }
  await Promise.all(clients.map((connection) => connection.end()));
});

test('a transaction that stays open after a call blocks neither its window nor the next', async () => {
  const [key, holder] = [await make(3), await db.connect()];
  await holder.query('begin');
  await enqueue(key.key, holder);
  await enqueue(key.key);
  await turn(key);
  // The holder began the current window, and keeps its lock. With another length the next call needs another lock.
  await client.query('select tock.update_key($1, \'{"rate_seconds": 43200}\')', [key.prefix]);
  await enqueue(key.key);
  await enqueue(key.key);
  await enqueue(key.key);
  expect((await refusal(enqueue(key.key))).code).toBe('TK429');
  await holder.query('rollback');
  expect(
    await value(
      client,
      'select n_dead_tup::int from pg_stat_user_tables where relid = $1::regclass',
      ['tock.keys'],
    ),
  ).toBeLessThan(5);
});

test('refused and rolled-back calls are not counted twice, and one call counts once', async () => {
  const key = await make(10);
  const body = '{"tasks": [{"pipeline": ["q", "r", "s"]}]}';
  await value(client, "select tock.http_enqueue($1, 'q', $2, null)", [key.key, body]);
  expect(await count(key)).toBe(1);
  await value(
    client,
    `select bool_and(tock.authorize(p_key => $1, p_scope => 'claim', p_queue => q)) from unnest(array['a', 'b']) q`,
    [key.key],
  );
  expect(await count(key)).toBe(2);
  await value(client, "select tock.authorize(p_key => $1, p_scope => 'claim', p_again => true)", [
    key.key,
  ]);
  expect(await count(key)).toBe(2);
});

test('a changed rate holds from the next call on', async () => {
  const key = await make(1);
  await enqueue(key.key);
  expect((await refusal(enqueue(key.key))).code).toBe('TK429');
  await client.query('select tock.update_key($1, \'{"rate_limit": 2}\')', [key.prefix]);
  await enqueue(key.key);
  expect((await refusal(enqueue(key.key))).code).toBe('TK429');
  await client.query('select tock.update_key($1, \'{"rate_limit": null, "rate_seconds": null}\')', [
    key.prefix,
  ]);
  for (let n = 0; n < 5; n++) await enqueue(key.key);
});

test('a rate is added to a key later, and without its counter the key is refused', async () => {
  const [{ key, prefix } = {} as Key] = await rows<Key>(
    client,
    "select * from tock.create_key('k', '{enqueue}')",
  );
  await enqueue(key);
  await client.query('select tock.update_key($1, \'{"rate_limit": 1, "rate_seconds": 86400}\')', [
    prefix,
  ]);
  await enqueue(key);
  expect((await refusal(enqueue(key))).code).toBe('TK429');
  await client.query(`drop sequence tock.rate_${prefix.slice(5)}`);
  expect((await refusal(enqueue(key))).code).toBe('TK503');
  await client.query("select tock.run_maintenance('record_key_uses')");
  await enqueue(key);
});
