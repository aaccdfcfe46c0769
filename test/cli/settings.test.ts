import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { type Database, freshDatabase } from '../database.ts';
import { type ServedApp, serveApp } from './served.ts';
import { tock } from './tock.ts';

let db: Database;
let server: ServedApp;
let key: string;

beforeAll(async () => {
  db = await freshDatabase();
  server = await serveApp(db);
  const args = ['key', 'create', 'all', '--scope', 'enqueue,read', '--json'];
  key = JSON.parse((await tock(args, { env: { DATABASE_URL: db.url } })).out).key;
});
afterAll(async () => {
  server.close();
  await db.drop();
});

/** A URL where no Tock answers. A command that calls it ends with exit code 4. */
const away = 'http://127.0.0.1:1';
const awayDatabase = 'postgres://t:word@127.0.0.1:1/x';

/** Creates a TOCK_HOME with these values in its dev.env. Default: what `npm start` writes. */
function home(values?: Record<string, string>): string {
  const folder = mkdtempSync(join(tmpdir(), 'tock-cli-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const all = values ?? { TOCK_URL: server.url, TOCK_KEY: key, DATABASE_URL: db.url };
  const lines = Object.entries(all).map(([name, value]) => `export ${name}='${value}'\n`);
  writeFileSync(join(folder, 'dev.env'), lines.join(''));
  return folder;
}

test('a key from an option is used with the server of dev.env', async () => {
  const TOCK_HOME = home();
  const enqueue = ['enqueue', 'keyed', '1'];
  expect(await tock(enqueue, { env: { TOCK_HOME } })).toMatchObject({ code: 0, err: '' });
  for (const args of [enqueue, ['status'], ['task', '1']]) {
    const option = await tock(['--key', 'bad', ...args], { env: { TOCK_HOME, TOCK_KEY: key } });
    const variable = await tock(args, { env: { TOCK_HOME, TOCK_KEY: 'bad' } });
    for (const outcome of [option, variable]) {
      expect(outcome).toMatchObject({ code: 1, out: '' });
      expect(outcome.err).toMatch(/tock key create/);
    }
  }
  const empty = await tock(['--key', '', ...enqueue], { env: { TOCK_HOME } });
  expect(empty).toMatchObject({ code: 1, out: '' });
  const kept = home({ TOCK_URL: server.url });
  const own = await tock(enqueue, { env: { TOCK_HOME: kept, TOCK_KEY: key } });
  expect(own).toMatchObject({ code: 0, err: '' });
});

test('a database URL from an option is used instead of the server of dev.env', async () => {
  const TOCK_HOME = home({ TOCK_URL: away, TOCK_KEY: 'k', DATABASE_URL: awayDatabase });
  const args = ['enqueue', 'given', '1'];
  const option = await tock([...args, '--database-url', db.url], { env: { TOCK_HOME } });
  const variable = await tock(args, { env: { TOCK_HOME, DATABASE_URL: db.url, TOCK_KEY: 'k' } });
  for (const outcome of [option, variable]) expect(outcome).toMatchObject({ code: 0, err: '' });
  const env = { TOCK_HOME, DATABASE_URL: db.url };
  const keyed = await tock([...args, '--key', 'bad'], { env });
  expect(keyed).toMatchObject({ code: 2, out: '' });
  expect(keyed.err).toMatch(/^--key is for HTTP, and this command goes to the database\.\n/);
});

test('.dev.vars in the current folder names the target after the environment and dev.env', async () => {
  const cwd = home();
  const values = (database: string) => `# of this machine\nDATABASE_URL=${database}\nTOCK_KEY=\n`;
  writeFileSync(join(cwd, '.dev.vars'), values(db.url));
  const enqueue = ['enqueue', 'vars', '1'];
  expect(await tock(enqueue, { cwd })).toMatchObject({ code: 0, err: '' });
  writeFileSync(join(cwd, '.dev.vars'), values(awayDatabase));
  expect(await tock(enqueue, { cwd })).toMatchObject({ code: 4 });
  for (const env of [{ DATABASE_URL: db.url }, { TOCK_HOME: cwd }])
    expect(await tock(enqueue, { cwd, env })).toMatchObject({ code: 0, err: '' });
});

test('in a project of tock init, the error about a missing database says what to type', async () => {
  const cwd = home();
  writeFileSync(join(cwd, '.dev.vars.example'), '');
  const missing = await tock(['migrate'], { cwd });
  expect(missing).toMatchObject({ code: 2, out: '' });
  expect(missing.err).toMatch(
    /^No database is configured\.\nType: cp \.dev\.vars\.example \.dev\.vars\n/,
  );
});

test('a server without a key is refused, even if dev.env has a database', async () => {
  const TOCK_HOME = home({ DATABASE_URL: db.url });
  const lone = await tock(['enqueue', 'lone', '1'], { env: { TOCK_HOME, TOCK_URL: away } });
  expect(lone).toMatchObject({ code: 2, out: '' });
  expect(lone.err).toMatch(/^TOCK_URL needs a key\.\n/);
});

test('with a server from an option, the database of dev.env is not used', async () => {
  const TOCK_HOME = home({ TOCK_KEY: key, DATABASE_URL: db.url });
  const option = await tock(['--url', away, 'migrate'], { env: { TOCK_HOME } });
  expect(option).toMatchObject({ code: 2, out: '' });
  expect(option.err).toMatch(/^--url is .* needs the database\.\nGive --database-url/);
  const variable = await tock(['migrate'], { env: { TOCK_HOME, TOCK_URL: away } });
  expect(variable).toMatchObject({ code: 2, out: '' });
  expect(variable.err).toMatch(/^TOCK_URL is .*\nGive --database-url, or DATABASE_URL/);
  for (const args of [['key', 'list'], ['key', 'revoke', 'tock_00000000'], ['audit-log']]) {
    const gone = await tock(['--url', away, ...args], { env: { TOCK_HOME } });
    expect(gone).toMatchObject({ code: 4, out: '', err: expect.stringContaining(away) });
  }
  // With the variables that `. .tock/dev.env` sets, `tock key` uses the database, not the server.
  const shell = { TOCK_URL: away, TOCK_KEY: key, DATABASE_URL: db.url };
  expect(await tock(['key', 'list'], { env: shell })).toMatchObject({ code: 0, err: '' });
  expect(await tock(['key', 'list', '--url', away], { env: shell })).toMatchObject({ code: 4 });
});

test('an invalid URL is refused', async () => {
  for (const url of ['nonsense', 'postgres://a/b', 'tock.example']) {
    const refused = await tock(['--url', url, '--key', 'k', 'status'], { env: {} });
    expect(refused).toMatchObject({ code: 2, err: expect.stringMatching(/^--url is not a URL\./) });
  }
});

test('every command refuses a server and a database together', async () => {
  const commands = ['migrate', 'key list', 'key revoke x', 'key create x --scope read', 'status'];
  commands.push(
    'doctor',
    'enqueue a 1',
    'task 1',
    'cancel 1',
    'change 1 --delay 1',
    'erase 1',
    'limits',
  );
  for (const command of commands) {
    const ways = ['--url', server.url, '--database-url', db.url, '--key', key];
    const outcome = await tock([...command.split(' '), ...ways]);
    const err = '--url and --database-url exclude each other: give one.\n';
    expect({ command, ...outcome }).toEqual({ command, code: 2, out: '', err });
  }
});

test('status reads all its data from one target', async () => {
  const TOCK_HOME = home({ DATABASE_URL: db.url });
  const other = home({ TOCK_URL: away, TOCK_KEY: 'k', DATABASE_URL: awayDatabase });
  const status = async (env: NodeJS.ProcessEnv, ...args: string[]) => {
    server.calls.length = 0;
    const { code, out } = await tock(['status', '--json', ...args], { env });
    expect(code).toBe(0);
    const { queues, maintenance_jobs, segments } = JSON.parse(out);
    expect([queues, maintenance_jobs, segments.ahead]).toEqual([
      expect.any(Array),
      expect.any(Array),
      expect.any(Number),
    ]);
    return server.calls.slice();
  };
  const overHttp = ['GET /v1/queues', 'GET /v1/maintenance'];
  const inSql: string[] = [];
  const there = { TOCK_URL: server.url, TOCK_KEY: key };
  expect(await status({ TOCK_HOME, ...there })).toEqual(overHttp);
  const option = await status({ TOCK_KEY: key, DATABASE_URL: db.url }, '--url', server.url);
  expect(option).toEqual(overHttp);
  expect(await status({ TOCK_HOME: home() })).toEqual(inSql);
  expect(await status({ TOCK_HOME: other }, '--database-url', db.url)).toEqual(inSql);
});
