import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { checkout } from '../../scripts/stack/paths.ts';
import { emptyDatabase } from './sample_sql.ts';
import { execute } from './tock.ts';

const folder = mkdtempSync(join(tmpdir(), 'tock-package-'));
afterAll(() => rmSync(folder, { recursive: true }));

// A PATH as on a user's machine: with the installed Node, without the programs of this source tree.
const path = (process.env.PATH ?? '').split(delimiter).filter((part) => !/node_modules/.test(part));

const tsc = join(checkout, 'node_modules', '.bin', 'tsc');

// A user's program, which tsc compiles. tsc checks the package's declarations too.
const worker = `
import { createTock, type Handler, type TockError } from 'tock/client';
import { stopSignal } from 'tock/client/node';
import { type SqlPool, workSql } from 'tock/client/sql';
import { createTestTock } from 'tock/client/testing';

type Queues = { email: { to: string }; resize: { width: number } };
declare const pool: SqlPool;
const mail: Handler<Queues['email']> = ({ payload }) => payload.to;
const on_error = async (error: unknown) => console.error((error as TockError).hint);
const tock = createTock<Queues>({ url: 'https://tock.example', key: 'k', fetch });
export const worked = [
  tock.work('email', mail, { signal: stopSignal(), on_error }),
  tock.work({ email: mail, resize: ({ payload }, { signal }) => signal.aborted || payload.width }),
  workSql<Queues>(pool, { resize: async ({ payload }, { client }) => client.query('', [payload.width]) }),
  workSql<Queues, 'email'>(pool, 'email', ({ payload }) => payload.to),
  createTestTock<Queues>().drain({ email: mail }),
];
// @ts-expect-error there is no such queue
void tock.enqueue('mail', { to: 'ann' });
`;

test('the packed package migrates from an empty folder, without a source tree, and is typed', async () => {
  const env = { PATH: path.join(delimiter), npm_config_audit: 'false', npm_config_fund: 'false' };
  const run = async (argv: string[], cwd: string, more = {}) => {
    const outcome = await execute(argv, { cwd, env: { ...env, ...more } });
    expect(outcome, `${argv.join(' ')}:\n${outcome.out}${outcome.err}`).toMatchObject({ code: 0 });
    return outcome.out;
  };
  await run(['npm', 'pack', '--pack-destination', folder], checkout);
  const [file = 'nothing'] = readdirSync(folder);
  const app = join(folder, 'app');
  mkdirSync(app);
  writeFileSync(join(app, 'package.json'), '{"name":"app","private":true}');
  await run(['npm', 'install', '--prefer-offline', '--omit=dev', join('..', file)], app);
  const installed = readdirSync(join(app, 'node_modules', 'tock'));
  expect(installed.sort()).toEqual(expect.arrayContaining(['dist', 'package.json', 'sql']));
  expect(installed).not.toContain('cli');

  const entries = ['client', 'client/testing', 'client/sql', 'client/node', 'receiver', 'worker'];
  const script = `for (const one of ${JSON.stringify(entries)}) console.log(Object.keys(await import('tock/' + one)).join())`;
  expect(await run(['node', '--input-type=module', '-e', script], app)).toMatch(
    /createTock.*\ncreateTestTock\n.*workSql.*\nstopSignal\nlambdaHandler,nodeListener,serve\n.*createWorker,defineConsumer.*\n/,
  );

  writeFileSync(join(app, 'worker.mts'), worker);
  const strict = [
    '--noEmit',
    '--strict',
    '--skipLibCheck',
    'false',
    '--types',
    '',
    '--target',
    'es2022',
  ];
  for (const [module, resolution] of [
    ['nodenext', 'nodenext'],
    ['node16', 'node16'],
    ['esnext', 'bundler'],
  ]) {
    const how = ['--module', `${module}`, '--moduleResolution', `${resolution}`];
    await run([tsc, ...strict, '--lib', 'es2022,dom', ...how, 'worker.mts'], app);
  }

  const db = await emptyDatabase();
  const more = { DATABASE_URL: db.url };
  const first = await run(['npx', '--no', 'tock', 'migrate'], app, more);
  expect(first).toMatch(/Applying migrations\/0001_roles\.sql\n(.|\n)*Applied \d+ migrations\.\n$/);
  expect(await run(['npx', '--no', 'tock', 'migrate'], app, more)).toContain('No new migrations.');
  expect(await run(['npx', '--no', 'tock', 'enqueue', 'mail', '1'], app, more)).toMatch(/^\d+\n$/);
});
