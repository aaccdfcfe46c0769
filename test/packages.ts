import { cpSync, existsSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { checkout } from '../scripts/stack/paths.ts';
import { run } from '../scripts/stack/run.ts';

/**
 * Installs the packages of a folder's package-lock.json into `.tock/<name>`, unless they are there, and returns that
 * folder. For programs that one slow test needs, so that they are no packages of every checkout.
 */
export async function installPackages(source: string, name: string): Promise<string> {
  const place = join(checkout, '.tock', name);
  if (existsSync(join(place, 'node_modules'))) return place;
  const fresh = `${place}.${process.pid}`;
  mkdirSync(fresh, { recursive: true });
  for (const file of ['package.json', 'package-lock.json'])
    cpSync(join(source, file), join(fresh, file));
  const npm = process.env.npm_execpath ? [process.execPath, process.env.npm_execpath] : ['npm'];
  await run([...npm, 'ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: fresh,
  });
  // Another process may have installed them meanwhile.
  if (!existsSync(place)) cpSync(fresh, place, { recursive: true, verbatimSymlinks: true });
  rmSync(fresh, { recursive: true });
  return place;
}
