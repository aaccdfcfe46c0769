import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { aptUpdate } from './apt.ts';
import { buildFolder } from './build_folder.ts';
import { home } from './paths.ts';
import { attempt, run } from './run.ts';
import { softly } from './step_reporter.ts';

/** Fetches Debian's package of Prometheus and unpacks it. It is not installed, because then a server would start. */
async function unpack(fresh: string): Promise<void> {
  const download = () => attempt(['apt-get', 'download', '-q', 'prometheus'], { cwd: fresh });
  if ((await download()).code !== 0) {
    await aptUpdate(softly);
    const { code, output } = await download();
    if (code !== 0) throw new Error(`apt-get download prometheus failed:\n${output}`);
  }
  const [deb = ''] = readdirSync(fresh).filter((name) => name.endsWith('.deb'));
  const root = join(fresh, 'root');
  mkdirSync(root);
  await run(['dpkg-deb', '-x', join(fresh, deb), root]);
  await run(['mv', join(root, 'usr/bin/promtool'), fresh]);
  await run(['rm', '-r', root, join(fresh, deb)]);
}

/** The path of promtool: one on the PATH, or one from Debian's package in `.tock`. Null on a system without apt. */
export async function promtool(): Promise<string | null> {
  const paths = (process.env.PATH ?? '').split(delimiter).map((folder) => join(folder, 'promtool'));
  const present = paths.find((path) => existsSync(path));
  if (present) return present;
  if (!existsSync('/usr/bin/apt-get')) return null;
  const folder = join(home(), 'promtool');
  await buildFolder(folder, '1 prometheus\n', softly, unpack);
  return join(folder, 'promtool');
}
