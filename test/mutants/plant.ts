import { cpSync, globSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { checkout } from '../../scripts/stack/paths.ts';
import { edited, placesOf, type Source } from './match.ts';
import type { Mutant } from './mutants.ts';

/** What a folder's files import from outside of the folder. */
const beside: Record<string, string[]> = { functions: ['client', 'node_modules'] };

/** The folder that is copied for a mutant. */
export const folderOf = (mutant: Mutant) => (mutant.in.includes('.') ? 'sql' : mutant.in);

/** The files of a folder that a mutant may change, without sql/schema.sql, which is generated. */
export function sourcesOf(folder: string): Source[] {
  const exclude = ['**/node_modules/**', '**/schema.sql'];
  const files = globSync(`${folder}/**/*.{sql,ts,mjs,sh}`, { cwd: checkout, exclude });
  return files.map((path) => ({ path, text: readFileSync(join(checkout, path), 'utf8') }));
}

/** The files that a mutant changes, with its change. */
export function mutated(from: Source[], mutant: Mutant): Source[] {
  const edits = placesOf(from, mutant);
  const changed = from.filter(({ path }) => edits.some((edit) => edit.path === path));
  return changed.map((source) => ({ path: source.path, text: edited(source, edits) }));
}

/** Copies the mutant's folder with the mutant in it. Returns the environment that makes tests use the copy. */
export function plant(mutant: Mutant, to: string): Record<string, string> {
  const folder = folderOf(mutant);
  const sources = sourcesOf(folder);
  const edits = placesOf(sources, mutant);
  const filter = (path: string) => !path.includes('node_modules');
  cpSync(join(checkout, folder), join(to, folder), { recursive: true, filter });
  for (const source of sources) writeFileSync(join(to, source.path), edited(source, edits));
  for (const name of beside[folder] ?? []) symlinkSync(join(checkout, name), join(to, name));
  return { [`TOCK_${folder.toUpperCase()}_DIRECTORY`]: join(to, folder) };
}
