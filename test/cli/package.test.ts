import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { checkout } from '../../scripts/stack/place.ts';
import { execute } from './tock.ts';
import { emptyDatabase } from './toy.ts';

const folder = mkdtempSync(join(tmpdir(), 'tock-package-'));
afterAll(() => rmSync(folder, { recursive: true }));

// As on a machine that has Tock from the registry: the Node that is installed, no source tree.
const path = (process.env.PATH ?? '').split(delimiter).filter((part) => !/node_modules/.test(part));

test('the packed package migrates from an empty folder, without a source tree', async () => {
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

  const entries = ['client', 'client/testing', 'client/sql', 'client/node', 'worker'];
  const script = `for (const one of ${JSON.stringify(entries)}) console.log(Object.keys(await import('tock/' + one)).join())`;
  expect(await run(['node', '--input-type=module', '-e', script], app)).toMatch(
    /createTock.*\ncreateTestTock\n.*workSql.*\nstopSignal\n.*createWorker,defineConsumer.*\n/,
  );

  const db = await emptyDatabase();
  const more = { DATABASE_URL: db.url };
  const first = await run(['npx', '--no', 'tock', 'migrate'], app, more);
  expect(first).toMatch(
    /Applying migrations\/0001_queues\.sql\n(.|\n)*Applied \d+ migrations\.\n$/,
  );
  expect(await run(['npx', '--no', 'tock', 'migrate'], app, more)).toContain('No new migrations.');
  expect(await run(['npx', '--no', 'tock', 'enqueue', 'mail', '1'], app, more)).toMatch(/^\d+\n$/);
}, 180_000);
