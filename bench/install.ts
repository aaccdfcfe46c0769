import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { attempt, lastLines } from '../scripts/stack/run.ts';

const here = dirname(fileURLToPath(import.meta.url));

type Lock = { packages?: Record<string, { version?: string; optional?: boolean }> };

const read = (path: string): Lock | null =>
  existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : null;

/** Whether a system's name is that of a package in bench/package.json. */
export function isPackage(name: string): boolean {
  const { dependencies } = JSON.parse(readFileSync(join(here, 'package.json'), 'utf8'));
  return name in dependencies;
}

/** npm writes node_modules/.package-lock.json last: an interrupted or older install differs. */
function installed(): boolean {
  const wanted = read(join(here, 'package-lock.json'))?.packages ?? {};
  const present = read(join(here, 'node_modules', '.package-lock.json'))?.packages;
  if (!present) return false;
  return Object.entries(wanted).every(([path, { version, optional }]) => {
    const found = present[path];
    return path === '' || (found ? found.version === version : optional);
  });
}

/** The peers and what draws the chart, as bench/package-lock.json names them. */
export async function install(say: (text: string) => void): Promise<void> {
  if (installed()) return;
  say('Installing the peers and the chart library into bench/node_modules (npm ci) ...');
  const npm = process.env.npm_execpath;
  const program = npm ? [process.execPath, npm] : ['npm'];
  const argv = [...program, 'ci', '--no-audit', '--no-fund', '--loglevel=error'];
  const { code, output } = await attempt(argv, { cwd: here });
  if (code !== 0)
    throw new Error(`npm ci in bench/ failed with code ${code}:\n${lastLines(output)}`);
}
