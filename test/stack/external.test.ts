import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { externalUrl, refusal } from '../../scripts/stack/external_database.ts';
import { secrets, writeDevEnv } from '../../scripts/stack/files.ts';
import { removeHome, start, temporaryHome } from './start_process.ts';

const home = temporaryHome();
const url = 'postgres://shop:secret@db.example.com/orders';

beforeAll(() => vi.stubEnv('TOCK_HOME', home));
afterEach(() => vi.stubEnv('DATABASE_URL', ''));
afterAll(() => {
  vi.unstubAllEnvs();
  removeHome(home);
});

test('npm start names the database of DATABASE_URL and changes nothing, unless it is told to', async () => {
  const stack = await start(home, { DATABASE_URL: url });
  expect(await stack.exit).toBe(2);
  expect(
    stack.output(),
  ).toBe(`DATABASE_URL in this shell names the database orders on db.example.com:5432.
npm start would migrate it, create the key "dev" there and serve it. Nothing was done.
  To use that database:              npm start -- --external
  To start a PostgreSQL of its own:  DATABASE_URL= npm start
`);
  expect(existsSync(join(home, 'running.json'))).toBe(false);
  expect(refusal(url, { external: true, reset: false })).toBe(null);
});

test('without a DATABASE_URL, or with the one of the local database, it starts its own', () => {
  const none = { external: false, reset: false };
  expect(refusal(externalUrl(), none)).toBe(null);
  const own = `postgres://tock:${secrets().owner}@127.0.0.1:5432/tock`;
  writeDevEnv({ TOCK_URL: '', TOCK_KEY: '', DATABASE_URL: own, POOLED_DATABASE_URL: '' });
  vi.stubEnv('DATABASE_URL', own);
  expect(refusal(externalUrl(), none)).toBe(null);
  expect(refusal(externalUrl(), { external: true, reset: false })).toMatch(/names none/);
  vi.stubEnv('DATABASE_URL', url);
  expect(refusal(externalUrl(), none)).toMatch(/the database orders on db\.example\.com/);
});

test('--reset never goes with a database of yours, and a bad URL is not printed', () => {
  expect(refusal(url, { external: true, reset: true })).toMatch(/--reset deletes only local data/);
  expect(refusal(url, { external: false, reset: true })).toMatch(/Nothing was done/);
  expect(refusal('secret', { external: false, reset: false })).toMatch(/cannot be read/);
});
