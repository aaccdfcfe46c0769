import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { tock } from './tock.ts';
import { transports } from './transports.ts';

const { env, http, server } = transports('enqueue,read');
let database: string;
let url: string;
let key: string;
beforeAll(() => {
  database = env().DATABASE_URL;
  ({ TOCK_URL: url, TOCK_KEY: key } = http());
});

/** A URL where no Tock answers. A command that calls it ends with exit code 4. */
const away = 'http://127.0.0.1:1';
const awayDatabase = 'postgres://t:word@127.0.0.1:1/x';

/** Creates a TOCK_HOME with these values in its dev.env. Default: what `npm start` writes. */
function home(values?: Record<string, string>): string {
  const folder = mkdtempSync(join(tmpdir(), 'tock-cli-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const all = values ?? { TOCK_URL: url, TOCK_KEY: key, DATABASE_URL: database };
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
  const kept = home({ TOCK_URL: url });
  const own = await tock(enqueue, { env: { TOCK_HOME: kept, TOCK_KEY: key } });
  expect(own).toMatchObject({ code: 0, err: '' });
});

test('a database URL from an option is used instead of the server of dev.env', async () => {
  const TOCK_HOME = home({ TOCK_URL: away, TOCK_KEY: 'k', DATABASE_URL: awayDatabase });
  const args = ['enqueue', 'given', '1'];
  const option = await tock([...args, '--database-url', database], { env: { TOCK_HOME } });
  const variable = await tock(args, { env: { TOCK_HOME, DATABASE_URL: database, TOCK_KEY: 'k' } });
  for (const outcome of [option, variable]) expect(outcome).toMatchObject({ code: 0, err: '' });
  const env = { TOCK_HOME, DATABASE_URL: database };
  const keyed = await tock([...args, '--key', 'bad'], { env });
  expect(keyed).toMatchObject({ code: 2, out: '' });
  expect(keyed.err).toMatch(/^--key is for HTTP, and this command goes to the database\.\n/);
});

test('.dev.vars in the current folder names the target after the environment and dev.env', async () => {
  const cwd = home();
  const values = (database: string) => `# of this machine\nDATABASE_URL=${database}\nTOCK_KEY=\n`;
  writeFileSync(join(cwd, '.dev.vars'), values(database));
  const enqueue = ['enqueue', 'vars', '1'];
  expect(await tock(enqueue, { cwd })).toMatchObject({ code: 0, err: '' });
  writeFileSync(join(cwd, '.dev.vars'), values(awayDatabase));
  expect(await tock(enqueue, { cwd })).toMatchObject({ code: 4 });
  for (const env of [{ DATABASE_URL: database }, { TOCK_HOME: cwd }])
    expect(await tock(enqueue, { cwd, env })).toMatchObject({ code: 0, err: '' });
});

test('in a project of tock init, the error about a missing database says what to type', async () => {
  const cwd = home();
  writeFileSync(join(cwd, '.dev.vars.example'), '');
  const missing = await tock(['migrate'], { cwd });
  expect(missing).toMatchObject({ code: 2, out: '' });
  expect(missing.err).toMatch(
    /^No database is configured\.\nType: cp \.dev\.vars\.example \.dev\.vars/,
  );
});

test('a server without a key is refused, even if dev.env has a database', async () => {
  const TOCK_HOME = home({ DATABASE_URL: database });
  const lone = await tock(['enqueue', 'lone', '1'], { env: { TOCK_HOME, TOCK_URL: away } });
  expect(lone).toMatchObject({ code: 2, out: '' });
  expect(lone.err).toMatch(/^TOCK_URL needs a key\.\n/);
});

test('with a server from an option, the database of dev.env is not used', async () => {
  const TOCK_HOME = home({ TOCK_KEY: key, DATABASE_URL: database });
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
  const shell = { TOCK_URL: away, TOCK_KEY: key, DATABASE_URL: database };
  expect(await tock(['key', 'list'], { env: shell })).toMatchObject({ code: 0, err: '' });
  expect(await tock(['key', 'list', '--url', away], { env: shell })).toMatchObject({ code: 4 });
});

test('an invalid URL is refused', async () => {
  for (const url of ['postgres://a/b', 'tock.example']) {
    const refused = await tock(['--url', url, '--key', 'k', 'status'], { env: {} });
    expect(refused).toMatchObject({ code: 2, err: expect.stringMatching(/^--url is not a URL\./) });
  }
});

test('every command refuses a server and a database together', async () => {
  for (const command of ['migrate', 'key list', 'status', 'doctor', 'enqueue a 1', 'limits']) {
    const ways = ['--url', url, '--database-url', database, '--key', key];
    const outcome = await tock([...command.split(' '), ...ways]);
    const err = '--url and --database-url exclude each other: give one.\n';
    expect({ command, ...outcome }).toEqual({ command, code: 2, out: '', err });
  }
});

test('status reads all its data from one target', async () => {
  const TOCK_HOME = home({ DATABASE_URL: database });
  const other = home({ TOCK_URL: away, TOCK_KEY: 'k', DATABASE_URL: awayDatabase });
  const status = async (env: NodeJS.ProcessEnv, ...args: string[]) => {
    server().calls.length = 0;
    const { code, out } = await tock(['status', '--json', ...args], { env });
    expect(code).toBe(0);
    const { queues, maintenance_jobs, segments } = JSON.parse(out);
    const kinds = [expect.any(Array), expect.any(Array), expect.any(Number)];
    expect([queues, maintenance_jobs, segments.ahead]).toEqual(kinds);
    return server().calls.slice();
  };
  const overHttp = ['GET /v1/queues', 'GET /v1/maintenance'];
  const inSql: string[] = [];
  const there = { TOCK_URL: url, TOCK_KEY: key };
  expect(await status({ TOCK_HOME, ...there })).toEqual(overHttp);
  const option = await status({ TOCK_KEY: key, DATABASE_URL: database }, '--url', url);
  expect(option).toEqual(overHttp);
  expect(await status({ TOCK_HOME: home() })).toEqual(inSql);
  expect(await status({ TOCK_HOME: other }, '--database-url', database)).toEqual(inSql);
});
