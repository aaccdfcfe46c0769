import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { checkout } from '../../scripts/stack/place.ts';
import type { Bug } from './bugs.ts';

/** What is copied as a whole; a file below none of the others is one of sql/. */
const folderOf = ({ file }: Bug) =>
  ['client', 'functions', 'cli', 'examples', 'bench', 'docs'].find((one) =>
    file.startsWith(`${one}/`),
  ) ?? 'sql';
/** What a folder's files import from beside it. */
const beside: Record<string, string[]> = {
  functions: ['client', 'node_modules'],
  cli: ['client', 'functions', 'migrate', 'sql', 'package.json', 'node_modules'],
};
const pathOf = (bug: Bug) => (folderOf(bug) === 'sql' ? join('sql', bug.file) : bug.file);

/** The text of the bug's file with the bug in it. */
export function planted(bug: Bug): string {
  const sql = readFileSync(join(checkout, pathOf(bug)), 'utf8');
  const everywhere =
    typeof bug.find === 'string' ? bug.find : new RegExp(bug.find.source, `${bug.find.flags}g`);
  const text = sql.replaceAll(everywhere, (_, inside) =>
    bug.replace.replaceAll('{inside}', () => String(inside)),
  );
  if (text === sql) throw new Error(`${bug.file} has nothing like: ${bug.find}`);
  return text;
}

/** Copies its folder, with the bug in it; the environment in which tests take it from there. */
export function plant(bug: Bug, folder: string): Record<string, string> {
  const name = folderOf(bug);
  const directory = join(folder, name);
  const filter = (path: string) => !path.includes('node_modules');
  cpSync(join(checkout, name), directory, { recursive: true, filter });
  writeFileSync(join(folder, pathOf(bug)), planted(bug));
  for (const one of beside[name] ?? []) symlinkSync(join(checkout, one), join(folder, one));
  return { [`TOCK_${name.toUpperCase()}_DIRECTORY`]: directory };
}
