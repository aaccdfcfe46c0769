import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { expect } from 'vitest';
import { withFileLock } from '../../scripts/stack/file_lock.ts';
import { checkout, home } from '../../scripts/stack/paths.ts';
import { execute } from './tock.ts';

// A PATH as on a user's machine: with this Node, and without the programs of the checkout.
const path = [
  dirname(process.execPath),
  ...(process.env.PATH ?? '').split(delimiter).filter((part) => !/node_modules/.test(part)),
];

/** The environment of what `runAsUser` runs. */
export const npmSettings = {
  PATH: path.join(delimiter),
  npm_config_audit: 'false',
  npm_config_fund: 'false',
  npm_config_prefer_offline: 'true',
  NO_COLOR: '1',
  FORCE_COLOR: undefined,
};

/** Runs a user's command, which must succeed. Returns what it prints. */
export async function runAsUser(
  argv: string[],
  cwd: string,
  env: NodeJS.ProcessEnv = {},
): Promise<string> {
  const outcome = await execute(argv, { cwd, env: { ...npmSettings, ...env } });
  expect(outcome, `${argv.join(' ')}:\n${outcome.out}${outcome.err}`).toMatchObject({ code: 0 });
  return outcome.out;
}

/** What `npm pack` reports: the sizes are bytes. */
export type Packed = { file: string; size: number; unpackedSize: number; names: string[] };

/** Packs a folder of the checkout, as `npm publish` does. Two at a time would write the same dist/. */
export function pack(part: '.' | './client' | './create', destination: string): Promise<Packed> {
  return withFileLock(
    join(home(), 'pack.lock'),
    () => {},
    async () => {
      const argv = ['npm', 'pack', part, '--json', '--pack-destination', destination];
      const out = await runAsUser(argv, checkout);
      const [{ filename, size, unpackedSize, files }] = JSON.parse(out.slice(out.indexOf('[')));
      const names = (files as { path: string }[]).map((file) => file.path);
      return { file: join(destination, filename), size, unpackedSize, names };
    },
  );
}

/** Makes a folder for a project of a user. */
export function emptyProject(folder: string): string {
  mkdirSync(folder);
  writeFileSync(join(folder, 'package.json'), '{"name":"app","private":true,"type":"module"}');
  return folder;
}

/** The names of all packages that npm has installed in a project. */
export function installedPackages(project: string): string[] {
  const lock = readFileSync(join(project, 'node_modules', '.package-lock.json'), 'utf8');
  return Object.keys(JSON.parse(lock).packages).map((place) => place.replace('node_modules/', ''));
}

/** Imports each module in Node. Returns the names that each exports, one module a line. */
export function exportsOf(modules: string[], project: string): Promise<string> {
  const script = `for (const name of ${JSON.stringify(modules)})
    console.log(name, Object.keys(await import(name)).join());`;
  return runAsUser(['node', '--input-type=module', '-e', script], project);
}

const tsc = join(checkout, 'node_modules', '.bin', 'tsc');
const strict = '--noEmit --strict --skipLibCheck false --target es2022 --lib es2022,dom'.split(' ');

/** Compiles a user's program, with the declarations of the packages, under each way to resolve modules. */
export async function compile(file: string, project: string): Promise<void> {
  for (const [module, resolution] of [
    ['nodenext', 'nodenext'],
    ['node16', 'node16'],
    ['esnext', 'bundler'],
  ]) {
    const how = ['--types', '', '--module', `${module}`, '--moduleResolution', `${resolution}`];
    await runAsUser([process.execPath, tsc, ...strict, ...how, file], project);
  }
}

/** A program of a user, which has no types of Node. `root` is the entry of the client. */
export const userProgram = (root: string, receiver: string) => `
import { createTock, type Handler, type TockError } from '${root}';
import { stopSignal } from '${root}/node';
import { lambdaHandler, nodeListener, serve } from '${receiver}';
import { type SqlPool, workSql } from '${root}/sql';
import { createTestTock } from '${root}/testing';

type Queues = { email: { to: string }; resize: { width: number } };
declare const pool: SqlPool;
const mail: Handler<Queues['email']> = ({ payload }) => payload.to;
const on_error = async (error: unknown) => console.error((error as TockError).hint);
const tock = createTock<Queues>({ url: 'https://tock.example', key: 'k', fetch });
const receive = serve<Queues['email']>(({ payload }) => payload.to, { secret: 'whsec_' });
export const handlers = [nodeListener(receive), lambdaHandler(receive)];
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
