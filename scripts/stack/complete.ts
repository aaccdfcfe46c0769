import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { locked } from './locked.ts';
import { run } from './run.ts';
import type { Say } from './say.ts';

const mark = '.made-by';

function isComplete(folder: string, recipe: string): boolean {
  const path = join(folder, mark);
  return existsSync(path) && readFileSync(path, 'utf8') === recipe;
}

// It may hold a Debian whose making was killed: what is mounted there is not ours to remove.
const remove = (folder: string) => run(['rm', '-rf', '--one-file-system', folder]);

/**
 * A folder made by its recipe, unless it is there already. It is made beside its place and moved there
 * when whole, by one process at a time; one that is incomplete, or of another recipe, is made anew.
 */
export async function completeFolder(
  folder: string,
  recipe: string,
  say: Say,
  make: (fresh: string) => Promise<void>,
): Promise<void> {
  if (isComplete(folder, recipe)) return;
  const parent = dirname(folder);
  const beside = `${basename(folder)}.new-`;
  const waits = () => say.note(`another run is making ${folder}: waiting for it`);
  await locked(`${folder}.lock`, waits, async () => {
    if (isComplete(folder, recipe)) return;
    for (const name of readdirSync(parent)) {
      if (name.startsWith(beside)) await remove(join(parent, name));
    }
    const fresh = join(parent, `${beside}${process.pid}`);
    mkdirSync(fresh);
    // For the database user too, whatever this process's umask is.
    chmodSync(fresh, 0o755);
    try {
      await make(fresh);
      writeFileSync(join(fresh, mark), recipe);
      await remove(folder);
      renameSync(fresh, folder);
    } finally {
      await remove(fresh);
    }
  });
}
