import { type ChildProcess, spawn } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, symlinkSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type pg from 'pg';
import { checkout } from '../../scripts/stack/paths.ts';
import { type ServedApp, serveApp } from '../cli/served.ts';
import { type Database, freshDatabase } from '../database.ts';

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
export async function startExampleServer(queue: string): Promise<ExampleServer> {
  const db = await freshDatabase();
  const server = await serveApp(db);
  const owner = await db.connect();
  const made = `select key from tock.create_key(p_name => 'k', p_scopes => '{claim}', p_queues => $1)`;
  const { key } = (await owner.query(made, [[queue]])).rows[0];
  const task: ExampleServer['task'] = async (id) =>
    (await owner.query('select * from tock.task(p_id => $1)', [id])).rows[0];
  return {
    db,
    owner,
    server,
    env: { TOCK_URL: server.url, TOCK_KEY: key },
    async enqueue(name, payloads, options = {}) {
      const tasks = JSON.stringify(payloads.map((payload) => ({ ...options, payload })));
      const statement = 'select tock.enqueue(p_queue => $1, p_tasks => $2)::text[] as ids';
      return (await owner.query(statement, [name, tasks])).rows[0].ids;
    },
    task,
    async states(ids) {
      const all = [];
      for (const id of ids) all.push((await task(id)).state);
      return all;
    },
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
  let out = '';
  let err = '';
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
