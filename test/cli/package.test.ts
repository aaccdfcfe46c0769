import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import {
  compile,
  emptyProject,
  exportsOf,
  installedPackages,
  pack,
  runAsUser,
  userProgram,
} from './packages.ts';
import { emptyDatabase } from './sample_sql.ts';

const folder = mkdtempSync(join(tmpdir(), 'tock-package-'));
afterAll(() => rmSync(folder, { recursive: true }));

test('the packed package migrates from an empty folder, without a source tree, and is typed', async () => {
  const packed = await pack('.', folder);
  // It holds the types that the exports name, and those few that stand beside them.
  expect(packed.size).toBeLessThan(740_000);
  expect(packed.unpackedSize).toBeLessThan(2_660_000);
  const app = emptyProject(join(folder, 'app'));
  await runAsUser(['npm', 'install', '--omit=dev', packed.file], app);
  expect(installedPackages(app).length).toBeLessThanOrEqual(40);
  const parts = readdirSync(join(app, 'node_modules', 'tock'));
  expect(parts.sort()).toEqual(['LICENSE', 'README.md', 'cli', 'dist', 'package.json', 'sql']);
  const sources = packed.names.filter((name) => /(?<!\.d)\.ts$/.test(name));
  expect(sources.filter((name) => !name.startsWith('cli/init/template/'))).toEqual([]);

  const entries = ['client', 'client/testing', 'client/sql', 'client/node', 'receiver', 'worker'];
  const modules = entries.map((entry) => `tock/${entry}`);
  expect(await exportsOf(modules, app)).toMatch(
    /createTock.*\n.* createTestTock\n.*workSql.*\n.*createTock,processName,stopSignal\n.* lambdaHandler,nodeListener,serve\n.*createWorker,defineConsumer.*\n/,
  );

  writeFileSync(join(app, 'worker.mts'), userProgram('tock/client', 'tock/receiver'));
  await compile('worker.mts', app);

  const more = { DATABASE_URL: (await emptyDatabase()).url };
  const first = await runAsUser(['npx', '--no', 'tock', 'migrate'], app, more);
  expect(first).toMatch(/Applying migrations\/0001_roles\.sql\n(.|\n)*Applied \d+ migrations\.\n$/);
  const again = await runAsUser(['npx', '--no', 'tock', 'migrate'], app, more);
  expect(again).toContain('No new migrations.');
  const enqueue = ['npx', '--no', 'tock', 'enqueue', 'mail', '1'];
  expect(await runAsUser(enqueue, app, more)).toMatch(/^\d+\n$/);
});
