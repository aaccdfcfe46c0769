import { afterAll, beforeAll, expect, test } from 'vitest';
import { MemoryBucket } from '../archive/bucket.ts';
import { passAllRetentions, twoDays } from '../archive/two_days.ts';
import { type Service, service } from '../http/service.ts';
import { dropExpiredSegments } from '../sql/kernel/segment/segments.ts';
import { enqueue } from '../sql/verbs.ts';
import { type ServedApp, serveApp } from './served.ts';
import { tock } from './tock.ts';

let made: Service;
let server: ServedApp;
let ids: Record<string, string>;

beforeAll(async () => {
  const env = { ARCHIVE: new MemoryBucket() };
  made = await service(env);
  server = await serveApp(made.database, env);
  ids = await twoDays(made.owner);
  await passAllRetentions(made.owner);
});
afterAll(async () => {
  server?.close();
  await made?.database.drop();
});

const cli = (...args: string[]) =>
  tock(['archive', ...args], { env: { TOCK_URL: server.url, TOCK_KEY: made.key } });

test('the archive is turned on, filled, listed and turned off', async () => {
  expect((await cli('on')).out).toMatch(/^The archive is on; .* tock\/\n0 segments in 0 files/);
  const ran = await cli('run');
  expect(ran.out).toMatch(/^\d\d runs exported, 0\.\d MiB; 0 tasks erased\n$/);
  await dropExpiredSegments(made.owner);
  expect((await cli('status')).out).toMatch(
    /\n2 segments in 2 files: \d\d runs.*\n0 segments wait/,
  );
  const dead = await cli('ls', 'bills', '--state', 'dead', '--worker', 'w-bills');
  expect(dead.out).toMatch(new RegExp(`\n${ids.dead} +dead +- +1 +w-bills`));
  const all = await cli('ls', 'many', '--limit', '30', '--json');
  expect(JSON.parse(all.out).tasks).toHaveLength(30);
  await enqueue(made.owner, 'more', [{ payload: 1 }]);
  expect((await cli('end')).out).toMatch(
    /^Segment 3 has ended; it is exported and dropped when all/,
  );
  expect((await cli('off')).out).toMatch(/^The archive is off/);
  // The database still has this task.
  expect(await cli('ls', 'more')).toMatchObject({
    err: 'The archive has no such tasks. Tasks that are still in the database: tock tasks\n',
  });
});

test("without a Worker the archive's state is shown, and `on` and `run` are refused", async () => {
  const sql = (...args: string[]) =>
    tock(['archive', ...args], { env: { DATABASE_URL: made.database.url } });
  expect((await sql('status')).out).toMatch(/^The archive is off/);
  for (const verb of ['on', 'run']) {
    expect(await sql(verb)).toMatchObject({ code: 2, err: expect.stringContaining('store') });
  }
});
