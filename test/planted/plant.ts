import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { checkout } from '../../scripts/stack/place.ts';
import type { Bug } from './bugs.ts';

/** The part of the source that a bug is in: files of sql/ go without it. */
function partOf({ file }: Bug): 'client' | 'functions' | 'sql' {
  const [part] = file.split('/');
  return part === 'client' || part === 'functions' ? part : 'sql';
}

/** The text of the bug's file with the bug in it. */
export function planted(bug: Bug): string {
  const sql = readFileSync(join(checkout, partOf(bug) === 'sql' ? 'sql' : '', bug.file), 'utf8');
  const everywhere =
    typeof bug.find === 'string' ? bug.find : new RegExp(bug.find.source, `${bug.find.flags}g`);
  const text = sql.replaceAll(everywhere, (_, inside) =>
    bug.replace.replaceAll('{inside}', () => String(inside)),
  );
  if (text === sql) throw new Error(`${bug.file} has nothing like: ${bug.find}`);
  return text;
}

/** Copies sql/, client/ or functions/ into a folder, with the bug in it; the environment in which tests take it from there. */
export function plant(bug: Bug, folder: string): Record<string, string> {
  const name = partOf(bug);
  const directory = join(folder, name);
  cpSync(join(checkout, name), directory, { recursive: true });
  writeFileSync(join(folder, name === 'sql' ? name : '', bug.file), planted(bug));
  // What functions/ imports from beside it.
  if (name === 'functions') {
    for (const one of ['client', 'node_modules']) {
      symlinkSync(join(checkout, one), join(folder, one));
    }
  }
  return { [`TOCK_${name.toUpperCase()}_DIRECTORY`]: directory };
}
