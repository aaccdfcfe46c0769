import type pg from 'pg';
import { expect, test } from 'vitest';
import { client, databasePerFile, db } from '../test_database.ts';
import { refusal, row, value } from '../verbs.ts';

databasePerFile();

type Key = { key: string; prefix: string };

// The window is a day, so a test stays within one, except at midnight.
const make = (limit: number | null) =>
  row<Key>(
    client,
    `select * from tock.create_key('k', '{enqueue,claim}', p_rate_limit => $1::integer,
       p_rate_seconds => case when $1::integer > 0 then 86400 end)`,
    [limit],
  );
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
const change = (prefix: string, changes: object) =>
  client.query('select tock.update_key($1, $2)', [prefix, changes]);
const isOver = async (key: string) => expect((await refusal(enqueue(key))).code).toBe('TK429');

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
  const clients = await Promise.all(Array.from({ length: 50 }, () => db.connect()));
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
  await change(key.prefix, { rate_seconds: 43_200 });
  for (let n = 0; n < 3; n++) await enqueue(key.key);
  await isOver(key.key);
  await holder.query('rollback');
  const dead =
    "select n_dead_tup::int from pg_stat_user_tables where relid = 'tock.keys'::regclass";
  expect(await value(client, dead)).toBeLessThan(5);
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

test('a rate that is added, changed or taken away holds from the next call on', async () => {
  const { key, prefix } = await make(null);
  await enqueue(key);
  for (const limit of [1, 2]) {
    await change(prefix, { rate_limit: limit, rate_seconds: 86_400 });
    await enqueue(key);
    await isOver(key);
  }
  await client.query(`drop sequence tock.rate_${prefix.slice(5)}`);
  expect((await refusal(enqueue(key))).code).toBe('TK503');
  await client.query("select tock.run_maintenance('record_key_uses')");
  await enqueue(key);
  await change(prefix, { rate_limit: null, rate_seconds: null });
  for (let n = 0; n < 5; n++) await enqueue(key);
});
