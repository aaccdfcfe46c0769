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
} from './packages.ts';

const folder = mkdtempSync(join(tmpdir(), 'tock-client-'));
afterAll(() => rmSync(folder, { recursive: true }));

// A user's program, which has no types of Node.
const program = `
import { createTock, type Handler, type TockError } from 'tock-client';
import { stopSignal } from 'tock-client/node';
import { lambdaHandler, nodeListener, serve } from 'tock-client/receiver';
import { type SqlPool, workSql } from 'tock-client/sql';
import { createTestTock } from 'tock-client/testing';

type Queues = { email: { to: string } };
declare const pool: SqlPool;
const mail: Handler<Queues['email']> = ({ payload }) => payload.to;
const on_error = async (error: unknown) => console.error((error as TockError).hint);
const tock = createTock<Queues>({ url: 'https://tock.example', key: 'k', fetch });
const receive = serve<Queues['email']>(({ payload }) => payload.to, { secret: 'whsec_' });
export const handlers = [nodeListener(receive), lambdaHandler(receive)];
export const worked = [
  tock.work('email', mail, { signal: stopSignal(), on_error }),
  workSql<Queues, 'email'>(pool, 'email', mail),
  createTestTock<Queues>().drain({ email: mail }),
];
// @ts-expect-error there is no such queue
void tock.enqueue('mail', { to: 'ann' });
`;

test('the client alone installs no package of the server, and each entry is typed', async () => {
  const packed = await pack('./client', folder);
  expect(packed.size).toBeLessThan(65_000);
  expect(packed.unpackedSize).toBeLessThan(280_000);
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

  writeFileSync(join(app, 'program.mts'), program);
  await compile('program.mts', app);
});
