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
import { withFileLock } from './file_lock.ts';
import { run } from './run.ts';
import type { StepReporter } from './step_reporter.ts';

const recipeFile = '.made-by';

function isComplete(folder: string, recipe: string): boolean {
  const path = join(folder, recipeFile);
  return existsSync(path) && readFileSync(path, 'utf8') === recipe;
}

// A killed build of a Debian may have left mounts in the folder. With --one-file-system their files are not removed.
const remove = (folder: string) => run(['rm', '-rf', '--one-file-system', folder]);

/**
 * Builds a folder by its recipe, unless it exists. One process at a time builds in a temporary folder, and renames the
 * folder when it is complete. A folder that is incomplete or has another recipe is built again.
 */
export async function buildFolder(
  folder: string,
  recipe: string,
  reporter: StepReporter,
  build: (fresh: string) => Promise<void>,
): Promise<void> {
  if (isComplete(folder, recipe)) return;
  const parent = dirname(folder);
  const prefix = `${basename(folder)}.new-`;
  const waits = () => reporter.note(`another run is building ${folder}: waiting for it`);
  await withFileLock(`${folder}.lock`, waits, async () => {
    if (isComplete(folder, recipe)) return;
    for (const name of readdirSync(parent)) {
      if (name.startsWith(prefix)) await remove(join(parent, name));
    }
    const fresh = join(parent, `${prefix}${process.pid}`);
    mkdirSync(fresh);
    // The database user must be able to read the folder, whatever the umask of this process is.
    chmodSync(fresh, 0o755);
    try {
      await build(fresh);
      writeFileSync(join(fresh, recipeFile), recipe);
      await remove(folder);
      renameSync(fresh, folder);
    } finally {
      await remove(fresh);
    }
  });
}
