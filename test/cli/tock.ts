import { spawn } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkout } from '../../scripts/stack/place.ts';

export type Outcome = { code: number | null; out: string; err: string };

type Options = { env?: NodeJS.ProcessEnv; input?: string; cwd?: string };

const names = ['DATABASE_URL', 'TOCK_URL', 'TOCK_KEY', 'TOCK_HOME', 'TOCK_DEBUG'];
/** The CLI starts twice as fast with what an earlier start compiled. */
const compiled = join(tmpdir(), 'tock-compiled');
const unset = Object.fromEntries(names.map((name) => [name, undefined]));

export function execute(argv: string[], { env, input = '', cwd }: Options): Promise<Outcome> {
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
  child.stdin.on('error', () => {});
  child.stdin.end(input);
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, out, err }));
  });
}

/** Runs the CLI from source as a process of its own, away from any .tock/dev.env. */
export function tock(args: string[], options: Options = {}): Promise<Outcome> {
  const main = join(checkout, 'cli', 'main.ts');
  const env = { ...unset, NODE_COMPILE_CACHE: compiled, ...options.env };
  return execute([process.execPath, main, ...args], { cwd: tmpdir(), ...options, env });
}
