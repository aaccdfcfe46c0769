import { execFile, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Work, Worker } from './types.ts';

type NodeWork = Extract<Work, { by: 'node' }>;

const pathOf = (module: string) => fileURLToPath(new URL(module, import.meta.url));
const environment = (task: unknown) => ({
  ...process.env,
  BENCH_WORK: JSON.stringify(task),
  NODE_ENV: 'production',
});

/** The version of a peer in bench/package.json. */
export function versionOf(name: string): string {
  const { dependencies } = JSON.parse(readFileSync(pathOf('package.json'), 'utf8'));
  return dependencies[name];
}

/** Runs a module to its end, for example one that creates a peer's schema. */
export async function nodeModule(module: string, task: unknown): Promise<void> {
  const options = { env: environment(task), timeout: 120_000 };
  await promisify(execFile)(process.execPath, [pathOf(module)], options);
}

/** Starts the module's process. bench/peers/serve.ts defines the protocol. */
function start(module: string, task: unknown): Worker {
  const child = spawn(process.execPath, [pathOf(module)], {
    env: environment(task),
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const report = {
    ready: Promise.withResolvers<void>(),
    met: Promise.withResolvers<void>(),
    over: Promise.withResolvers<void>(),
  };
  const gone = Promise.withResolvers<void>();
  const all = Object.values(report);
  // The promises are awaited in order, so a later one may fail before it is awaited.
  for (const { promise } of all) promise.catch(() => {});
  const lines = createInterface({ input: child.stdout });
  lines.on('line', (line) => report[line as keyof typeof report]?.resolve());
  let errors = '';
  child.stderr.setEncoding('utf8');
  child.stderr.on('data', (text: string) => {
    errors = (errors + text).slice(-4000);
  });
  child.stdin.on('error', () => {});
  const fail = (why: string) => {
    for (const { reject } of all) reject(new Error(`${module} ${why}:\n${errors}`));
    gone.resolve();
  };
  child.on('error', (error) => fail(error.message));
  child.on('close', (code, signal) => fail(`ended with ${signal ?? `code ${code}`}`));
  const say = async (word: string) => void child.stdin.write(`${word}\n`);
  return {
    ready: report.ready.promise,
    over: report.over.promise,
    meet: async () => {
      await say('meet');
      await report.met.promise;
    },
    go: () => say('go'),
    stop: () => say('stop'),
    async close() {
      if (child.exitCode === null) child.kill('SIGKILL');
      await gone.promise;
    },
  };
}

/** Distributes connections over processes. */
function shares(clients: number, processes: number): number[] {
  const count = Math.max(1, Math.min(clients, processes));
  return Array.from({ length: count }, (_, i) => Math.floor((clients + i) / count));
}

/** Starts the module in `options.processes` processes, which share the connections as pgbench's threads do. */
export function startNode(url: string, { module, options }: NodeWork, clients: number): Worker[] {
  return shares(clients, Number(options.processes ?? 1)).map((share) =>
    start(module, { url, clients: share, options }),
  );
}
