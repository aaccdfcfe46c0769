import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Work } from './types.ts';

type NodeWork = Extract<Work, { by: 'node' }>;

/** What processes did: `dry` calls found nothing to claim; `seconds` is the slowest one's time. */
export type Done = { calls: number; tasks: number; dry: number; seconds: number };

type Child = {
  process: ChildProcess;
  ready: Promise<void>;
  result: Promise<Done>;
};

const pathOf = (module: string) => fileURLToPath(new URL(module, import.meta.url));
const environment = (task: unknown) => ({
  ...process.env,
  BENCH_WORK: JSON.stringify(task),
  NODE_ENV: 'production',
});

/** The version of a peer, as bench/package.json has it. */
export function versionOf(name: string): string {
  const { dependencies } = JSON.parse(readFileSync(pathOf('package.json'), 'utf8'));
  return dependencies[name];
}

/** Runs a module to its end, like one that makes a peer's schema. */
export async function nodeModule(module: string, task: unknown): Promise<void> {
  const options = { env: environment(task), timeout: 120_000 };
  await promisify(execFile)(process.execPath, [pathOf(module)], options);
}

/** The module's process, which says `ready`, starts on `go`, prints a Done and ends with 0. */
function start(module: string, task: unknown): Child {
  const child = spawn(process.execPath, [pathOf(module)], {
    env: environment(task),
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const ready = Promise.withResolvers<void>();
  const result = Promise.withResolvers<Done>();
  // Each is awaited in its turn, and the other one may fail before.
  ready.promise.catch(() => {});
  result.promise.catch(() => {});
  let last = '';
  let errors = '';
  const lines = createInterface({ input: child.stdout });
  lines.on('line', (line) => {
    if (line === 'ready') ready.resolve();
    else last = line;
  });
  child.stderr.setEncoding('utf8');
  child.stderr.on('data', (text: string) => {
    errors = (errors + text).slice(-4000);
  });
  child.stdin.on('error', () => {});
  const fail = (why: string) => {
    const error = new Error(`${module} ${why}:\n${errors || last}`);
    ready.reject(error);
    result.reject(error);
  };
  child.on('error', (error) => fail(error.message));
  child.on('close', (code, signal) => {
    if (code !== 0) return fail(`ended with ${signal ?? `code ${code}`}`);
    try {
      result.resolve(JSON.parse(last));
      ready.resolve();
    } catch {
      fail('printed no result');
    }
  });
  return { process: child, ready: ready.promise, result: result.promise };
}

/** Rejects when the promise takes longer. */
async function within<T>(seconds: number, what: string, promise: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    const error = new Error(`${what} took longer than ${seconds} s.`);
    timer = setTimeout(() => reject(error), seconds * 1000);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

/** Shares so many connections out over so many processes. */
function shares(clients: number, processes: number): number[] {
  const count = Math.max(1, Math.min(clients, processes));
  return Array.from({ length: count }, (_, i) => Math.floor((clients + i) / count));
}

/**
 * Runs the module in `options.processes` processes, which share the connections as pgbench's threads
 * do; `onStart` is called when all are connected and warm, right before they begin.
 */
export async function nodeWork(
  url: string,
  work: NodeWork,
  { clients, seconds, onStart }: { clients: number; seconds: number; onStart?(): unknown },
): Promise<Done> {
  const processes = Number(work.options.processes ?? 1);
  const children = shares(clients, processes).map((share) =>
    start(work.module, { url, clients: share, seconds, options: work.options }),
  );
  try {
    const set = Promise.all(children.map(({ ready }) => ready));
    await within(120, `Warming ${work.module}`, set);
    await onStart?.();
    for (const child of children) child.process.stdin?.end('go\n');
    const ended = Promise.all(children.map(({ result }) => result));
    const done = await within(seconds + 60, work.module, ended);
    const sum = (of: (one: Done) => number) => done.reduce((total, one) => total + of(one), 0);
    return {
      calls: sum(({ calls }) => calls),
      tasks: sum(({ tasks }) => tasks),
      dry: sum(({ dry }) => dry),
      seconds: Math.max(...done.map((one) => one.seconds)),
    };
  } finally {
    for (const { process: child } of children) if (child.exitCode === null) child.kill('SIGKILL');
  }
}
