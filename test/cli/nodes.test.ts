import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Database, freshDatabase } from '../database.ts';
import { tock } from './tock.ts';

let db: Database;
beforeAll(async () => {
  db = await freshDatabase();
});
afterAll(() => db.drop());

const cli = (args: string[]) => tock(args, { env: { DATABASE_URL: db.url } });

test('nodes found gives the database a range, in which its next ids are', async () => {
  expect(await cli(['nodes', 'found', '7'])).toEqual({
    code: 0,
    out: 'Range 7: 8589934591 ids are left.\n',
    err: '',
  });
  const id = (await cli(['enqueue', 'q'])).out.trim();
  expect(BigInt(id) >> 53n).toBe(7n);
  const lower = await cli(['nodes', 'found', '6']);
  expect(lower).toMatchObject({ code: 1, out: '' });
  expect(lower.err).toContain('this database is in range 7 already, and ids only grow');
  expect((await cli(['nodes', 'found', '1024'])).code).toBe(2);
  expect(JSON.parse((await cli(['nodes', 'found', '7', '--json'])).out)).toMatchObject({
    range: 7,
  });
});

test('the directory needs Citus, and the commands say so', async () => {
  for (const args of [
    ['init', db.url],
    ['add', db.url],
    ['list'],
    ['place', 'q', 'n'],
    ['move', 'q', 'n'],
    ['drain', 'n'],
    ['found', '3', '--node', 'n'],
  ]) {
    expect(await cli(['nodes', ...args])).toEqual({
      code: 1,
      out: '',
      err: 'This database has no Citus, which sends calls to the nodes.\nSee docs/operating/scale.md.\n',
    });
  }
});
