import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { attempt, lastLines } from '../scripts/stack/run.ts';

const folder = dirname(fileURLToPath(import.meta.url));

type Lock = { packages?: Record<string, { version?: string; optional?: boolean }> };

const read = (path: string): Lock | null =>
  existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : null;

/** True if the system's name is a package in bench/package.json. */
export function isPackage(name: string): boolean {
  const { dependencies } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  return name in dependencies;
}

/** True if all packages are installed. npm writes .package-lock.json last, so an incomplete installation differs. */
function installed(): boolean {
  const expected = read(join(folder, 'package-lock.json'))?.packages ?? {};
  const present = read(join(folder, 'node_modules', '.package-lock.json'))?.packages;
  if (!present) return false;
  return Object.entries(expected).every(([path, { version, optional }]) => {
    const actual = present[path];
    return path === '' || (actual ? actual.version === version : optional);
  });
}

/** Installs the peers and the chart library that bench/package-lock.json names. */
export async function install(print: (text: string) => void): Promise<void> {
  if (installed()) return;
  print('Installing the peers and the chart library into bench/node_modules (npm ci) ...');
  const npm = process.env.npm_execpath;
  const program = npm ? [process.execPath, npm] : ['npm'];
  const argv = [...program, 'ci', '--no-audit', '--no-fund', '--loglevel=error'];
  const { code, output } = await attempt(argv, { cwd: folder });
  if (code !== 0)
    throw new Error(`npm ci in bench/ failed with code ${code}:\n${lastLines(output)}`);
}
