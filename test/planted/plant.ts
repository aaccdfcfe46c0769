import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { checkout } from '../../scripts/stack/place.ts';
import type { Bug } from './bugs.ts';

/** The text of the bug's file with the bug in it. */
export function planted(bug: Bug): string {
  const sql = readFileSync(join(checkout, 'sql', bug.file), 'utf8');
  const everywhere =
    typeof bug.find === 'string' ? bug.find : new RegExp(bug.find.source, `${bug.find.flags}g`);
  const text = sql.replaceAll(everywhere, (_, inside) =>
    bug.replace.replaceAll('{inside}', () => String(inside)),
  );
  if (text === sql) throw new Error(`${bug.file} has nothing like: ${bug.find}`);
  return text;
}

/** Copies sql/ to a folder, with the bug in it. */
export function plant(bug: Bug, directory: string): void {
  cpSync(join(checkout, 'sql'), directory, { recursive: true });
  writeFileSync(join(directory, bug.file), planted(bug));
}
