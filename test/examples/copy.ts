import { type ChildProcess, spawn } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type pg from 'pg';
import { afterAll, beforeAll } from 'vitest';
import { checkout } from '../../scripts/stack/paths.ts';
import { type ServedApp, serveApp } from '../cli/served.ts';
import { type Database, freshDatabase } from '../database.ts';
import { enqueue, task as taskRow, value } from '../sql/verbs.ts';

// esbuild is a dependency of wrangler, so it is installed.
const esbuild: typeof import('esbuild') = createRequire(import.meta.url)('esbuild');

/** A Tock for an example, which finds it by TOCK_URL and TOCK_KEY. */
export type ExampleServer = {
  db: Database;
  owner: pg.Client;
  server: ServedApp;
  env: { TOCK_URL: string; TOCK_KEY: string };
  /** Adds a task for each payload. Returns the ids. */
  enqueue(queue: string, payloads: unknown[], options?: object): Promise<string[]>;
  /** The answer of GET /v1/tasks/{id}. */
  // biome-ignore lint/suspicious/noExplicitAny: a test looks at whatever came
  task(id: string | undefined): Promise<any>;
  states(ids: string[]): Promise<string[]>;
  drop(): Promise<void>;
};

/** Starts a Tock with a key that may claim from one queue. */
async function startExampleServer(queue: string): Promise<ExampleServer> {
  const db = await freshDatabase();
  const server = await serveApp(db);
  const owner = await db.connect();
  const key = await value<string>(owner, "select key from tock.create_key('k', '{claim}', $1)", [
    [queue],
  ]);
  const task: ExampleServer['task'] = (id = '') => taskRow(owner, id);
  return {
    db,
    owner,
    server,
    env: { TOCK_URL: server.url, TOCK_KEY: key },
    enqueue: (name, payloads, options) =>
      enqueue(
        owner,
        name,
        payloads.map((payload) => ({ ...options, payload })),
      ),
    task,
    states: (ids) => Promise.all(ids.map(async (id) => (await task(id)).state)),
    async drop() {
      server.close();
      await db.drop();
    },
  };
}

/** test/mutants/run.ts sets this variable to a changed copy of examples/. */
export const examples = process.env.TOCK_EXAMPLES_DIRECTORY ?? join(checkout, 'examples');

const { dependencies, exports: entries } = createRequire(import.meta.url)('../../package.json');

/** Bundles the package's entries into a folder. The real build is tested by test/cli/package.test.ts. */
async function install(folder: string): Promise<void> {
  const all = Object.values<{ default?: string }>(entries).flatMap((entry) => entry.default ?? []);
  await esbuild.build({
    entryPoints: all.map((entry) => entry.replace('./dist/', '').replace(/js$/, 'ts')),
    outdir: join(folder, 'dist'),
    outbase: checkout,
    absWorkingDir: checkout,
    bundle: true,
    splitting: true,
    packages: 'external',
    format: 'esm',
  });
  cpSync(join(checkout, 'package.json'), join(folder, 'package.json'));
}

/** Copies an example to a new folder, with Tock installed, and other packages by name. */
export async function copyExample(name: string, others: string[] = []): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'tock-example-'));
  const modules = join(folder, 'node_modules');
  cpSync(join(examples, name), folder, { recursive: true });
  for (const other of [...Object.keys(dependencies), ...others]) {
    mkdirSync(dirname(join(modules, other)), { recursive: true });
    symlinkSync(join(checkout, 'node_modules', other), join(modules, other));
  }
  await install(join(modules, 'tock'));
  return folder;
}

/** The Tock of the test file, and the folder of its example. */
export let tock: ExampleServer;
export let folder: string;

/** Starts a Tock with a key for a queue, and copies an example, before the tests of a file. */
export function useExample(name: string, queue: string, packages: string[] = []): void {
  beforeAll(async () => {
    tock = await startExampleServer(queue);
    folder = await copyExample(name, packages);
  });
  afterAll(async () => {
    rmSync(folder, { recursive: true });
    await tock.drop();
  });
}

export type Process = {
  child: ChildProcess;
  out(): string;
  err(): string;
  ended: Promise<{ code: number | null; out: string; err: string }>;
};

/** Starts a process and keeps its output. */
export function startProcess(argv: string[], cwd: string, env: NodeJS.ProcessEnv): Process {
  const [program = '', ...args] = argv;
  const child = spawn(program, args, { cwd, env: { ...process.env, ...env } });
  let [out, err] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text) => {
    out += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text) => {
    err += text;
  });
  const ended = new Promise<{ code: number | null; out: string; err: string }>((resolve) => {
    child.on('close', (code) => resolve({ code, out, err }));
  });
  return { child, out: () => out, err: () => err, ended };
}
