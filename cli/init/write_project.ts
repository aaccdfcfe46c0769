import { cpSync, existsSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { Failure } from '../../migrate/failure.ts';
import { version } from '../version.ts';

/** The template: beside this file in the source tree, and at the same path beside dist/ in the package. */
function templateFolder(): string {
  const candidates = ['template', '../../../cli/init/template'];
  const folders = candidates.map((path) => resolve(import.meta.dirname, path));
  const folder = folders.find((path) => existsSync(path));
  if (folder) return folder;
  throw new Failure(`This installation of Tock lacks ${folders[1]}.`, 'Reinstall it.');
}

type Package = {
  engines: { node: string };
  dependencies: Record<string, string>;
  devDependencies: Record<string, string>;
};

/** The template's package.json. */
export const templatePackage = (): Package =>
  JSON.parse(readFileSync(join(templateFolder(), 'package.json'), 'utf8'));

function requireEmpty(folder: string): void {
  try {
    if (readdirSync(folder).length === 0) return;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return;
    if (code !== 'ENOTDIR') throw error;
    throw new Failure(`${folder} is a file.`, 'Give a folder that is new or empty.');
  }
  throw new Failure(`${folder} is not empty.`, 'Give a folder that is new or empty.');
}

/** Copies the template to a folder, under a name. Returns the paths of its files below the folder. */
export function writeProject(folder: string, name: string): string[] {
  requireEmpty(folder);
  cpSync(templateFolder(), folder, { recursive: true });
  // npm leaves a file .gitignore out of a package, so the template has it without the dot.
  renameSync(join(folder, 'gitignore'), join(folder, '.gitignore'));
  const files = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
  for (const file of files) {
    const text = readFileSync(file, 'utf8');
    const named = text
      .replaceAll('tock-app', name)
      .replace('"tock": "*"', `"tock": "^${version()}"`);
    writeFileSync(file, named);
  }
  return files.map((file) => file.slice(folder.length + 1)).sort();
}
