import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
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

const folder = mkdtempSync(join(tmpdir(), 'tock-client-'));
afterAll(() => rmSync(folder, { recursive: true }));

test('the client alone installs no package of the server, and each entry is typed', async () => {
  const packed = await pack('./client', folder);
  // Durable steps added 13 kB, or 50 kB unpacked.
  expect(packed.size).toBeLessThan(78_000);
  expect(packed.unpackedSize).toBeLessThan(336_000);
  const others = packed.names.filter((name) => !/^dist\/[\w/]+\.(js|d\.ts)$/.test(name));
  expect(others.sort()).toEqual(['LICENSE', 'README.md', 'package.json']);

  const app = emptyProject(join(folder, 'app'));
  await runAsUser(['npm', 'install', packed.file], app);
  expect(installedPackages(app).sort()).toEqual([
    '@stablelib/base64',
    'fast-sha256',
    'standardwebhooks',
    'tock-client',
  ]);

  const entries = ['', '/testing', '/sql', '/node', '/receiver'];
  const modules = entries.map((entry) => `tock-client${entry}`);
  expect(await exportsOf(modules, app)).toMatch(
    /createTock.*\n.* createTestTock\n.*workSql.*\n.*createTock,processName,stopSignal\n.* lambdaHandler,nodeListener,serve\n$/,
  );

  writeFileSync(join(app, 'program.mts'), userProgram('tock-client', 'tock-client/receiver'));
  await compile('program.mts', app);
});
