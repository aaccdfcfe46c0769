import { type ChildProcess, fork, spawn } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkout } from '../../scripts/stack/paths.ts';
import { conditionTimeout } from '../timeout.ts';

export type Outcome = { code: number | null; out: string; err: string };

type Options = { env?: NodeJS.ProcessEnv; input?: string; cwd?: string };

const names = ['DATABASE_URL', 'TOCK_URL', 'TOCK_KEY', 'TOCK_HOME', 'TOCK_DEBUG'];
const unset = Object.fromEntries(names.map((name) => [name, undefined]));

/** A command that hangs is killed before its test is out of time, so that the error says which one and what it printed. */
const KILLED_MS = 3 * conditionTimeout;

export function execute(argv: string[], { env, input = '', cwd }: Options): Promise<Outcome> {
  const [program = '', ...args] = argv;
  const child = spawn(program, args, { cwd, env: { ...process.env, ...env }, timeout: KILLED_MS });
  let out = '';
  let err = '';
  child.stdout.setEncoding('utf8').on('data', (text) => {
    out += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text) => {
    err += text;
  });
  child.stdin.on('error', () => {});
  child.stdin.end(input);
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, out, err }));
  });
}

const idle: ChildProcess[] = [];

/** A process that has loaded the CLI and is idle: an earlier one, or a new one. A killed process is not used again. */
function host(): ChildProcess {
  const waiting = idle.pop();
  if (waiting?.connected) return waiting;
  const child = fork(join(checkout, 'test', 'cli', 'host.ts'), { execArgv: [] });
  child.unref();
  child.channel?.unref();
  return child;
}

/**
 * Runs a command of the CLI from source, in a folder without .tock/dev.env. It uses a process that has loaded the CLI,
 * because the start takes far longer than most commands.
 */
export function tock(args: string[], options: Options = {}): Promise<Outcome> {
  if (options.input !== undefined) return tockProcess(args, options);
  const { env, cwd = tmpdir() } = options;
  const child = host();
  const all = { ...process.env, ...unset, ...env };
  const set = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
  return new Promise((resolve, reject) => {
    const ended = (code: number | null) => reject(new Error(`the CLI's host ended with ${code}`));
    child.once('exit', ended);
    child.once('message', (outcome: Outcome) => {
      child.off('exit', ended);
      idle.push(child);
      resolve(outcome);
    });
    child.send({ args, env: set, cwd });
  });
}

export const main = join(process.env.TOCK_CLI_DIRECTORY ?? join(checkout, 'cli'), 'main.ts');

/** Runs a command of the CLI in a new process. */
export function tockProcess(args: string[], options: Options = {}): Promise<Outcome> {
  const env = { ...unset, ...options.env };
  return execute([process.execPath, main, ...args], { cwd: tmpdir(), ...options, env });
}
