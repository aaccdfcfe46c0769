import { connect } from 'node:net';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Bundle, bundle } from '../../scripts/bundle.ts';
import { type Database, freshDatabase } from '../database.ts';
import { checkRequest } from '../fuzz/check.ts';
import { garbageOf, invalidOf } from '../fuzz/requests.ts';
import { runs, seeds } from '../fuzz/seeds.ts';
import { target } from '../fuzz/target.ts';
import { value } from '../sql/verbs.ts';
import { testRawRequests } from './wire.ts';
import { type Served, serveBundle } from './workerd.ts';

let made: Bundle;
let database: Database;
let served: Served;

beforeAll(async () => {
  made = await bundle();
  database = await freshDatabase();
  served = await serveBundle(made.code, { DATABASE_URL: database.edgeUrl });
});

afterAll(async () => {
  await served?.stop();
  await database?.drop();
});

test("the Worker's bundle is built without a network and is under 1 MB compressed", () => {
  const { code, bytes, compressed } = made;
  process.stdout.write(`The Worker's bundle: ${bytes} bytes, ${compressed} compressed.\n`);
  expect(compressed).toBeLessThan(1_000_000);
  expect(code).not.toContain(process.cwd());
});

test('a waiting claim stops polling when its client disconnects', async () => {
  const owner = await database.connect();
  const key = await value(owner, "select key from tock.create_key('w', '{claim}')");
  const watcher = await database.connect(database.superUrl);
  let last = 0;
  // The pooler may close the connection of the last poll, so the latest known time is kept.
  const secondsQuiet = async () => {
    const result = await watcher.query(
      `select extract(epoch from max(query_start))::float8 as last,
         extract(epoch from clock_timestamp())::float8 as now
       from pg_stat_activity
       where datname = $1 and usename = 'tock_edge' and query like '%tock.http_claim(%'`,
      [database.name],
    );
    last = Math.max(last, result.rows[0].last ?? 0);
    return result.rows[0].now - last;
  };
  const client = connect(served.port, '127.0.0.1');
  client.write(
    `POST /v1/queues/q/claim HTTP/1.1\r\nHost: tock\r\nAuthorization: Bearer ${key}\r\n` +
      'Content-Type: application/json\r\nContent-Length: 19\r\n\r\n{"wait_seconds":30}',
  );
  await expect.poll(secondsQuiet).toBeLessThan(0.5);
  // The client resets the connection, because workerd ignores a FIN alone.
  client.resetAndDestroy();
  // A call that still waited would poll many times a second.
  await expect.poll(secondsQuiet, { interval: 200 }).toBeGreaterThan(3);
});

testRawRequests(() => ({ served, database }));

test('requests with one mistake are refused with the field in workerd too', async () => {
  const at = await target();
  const { edgeUrl } = at.tock.database;
  const bindings = { DATABASE_URL: edgeUrl, TOCK_PUSH_SECRET: 'c2VjcmV0'.repeat(6) };
  const other = await serveBundle(made.code, bindings);
  try {
    at.request = (path, init) => fetch(`${other.url}${path}`, init);
    const all = at.operations.flatMap((operation) => [invalidOf(operation), garbageOf(operation)]);
    const check = async (plan: Parameters<typeof checkRequest>[1]) =>
      void (await checkRequest(at, plan));
    const property = fc.asyncProperty(fc.oneof(...all), check);
    await fc.assert(property, { seed: seeds.at(-1) as number, numRuns: runs });
  } finally {
    await other.stop();
    await at.tock.database.drop();
  }
});
