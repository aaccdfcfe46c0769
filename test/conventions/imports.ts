import { readdirSync, readFileSync } from 'node:fs';
import { join, normalize } from 'node:path';

/** For each file the files that it imports: values, types, and those imported while it runs. Paths are the checkout's. */
export type Imports = Map<string, string[]>;

const statement = /\b(?:from|import)\s*\(?\s*'(\.[^']+\.(?:tsx?|mjs))'/g;

/** The imports in a file's text. */
export function importsIn(file: string, text: string): string[] {
  return [...text.matchAll(statement)].map(([, path = '']) => normalize(join(file, '..', path)));
}

/** The imports of all files in some folders. */
export function importsOf(checkout: string, folders: string[]): Imports {
  const files = folders.flatMap((folder) =>
    readdirSync(join(checkout, folder), { recursive: true, encoding: 'utf8' })
      .filter((file) => /\.(tsx?|mjs)$/.test(file) && !/\b(node_modules|dist)\//.test(file))
      .map((file) => join(folder, file)),
  );
  return new Map(
    files.map((file) => [file, importsIn(file, readFileSync(join(checkout, file), 'utf8'))]),
  );
}

/** All files that a file reaches by imports; itself only where it is in a cycle. */
function reachedFrom(file: string, imports: Imports): Set<string> {
  const reached = new Set<string>();
  const open = [file];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    for (const target of imports.get(next) ?? []) {
      if (reached.has(target)) continue;
      reached.add(target);
      open.push(target);
    }
  }
  return reached;
}

/** Files that import each other, each group once: its files in order. */
export function cycles(imports: Imports): string[][] {
  const reached = new Map([...imports.keys()].map((file) => [file, reachedFrom(file, imports)]));
  const groups = [...reached].flatMap(([file, targets]) => {
    if (!targets.has(file)) return [];
    return [[...targets].filter((target) => reached.get(target)?.has(file)).sort()];
  });
  return groups.filter(([first], at) => groups.findIndex(([other]) => other === first) === at);
}

/** Imports, as `file -> file`, that lead out of a folder to where it may not go. */
export function unusedFiles(imports: Imports, folder: string, allowed: string[]): string[] {
  const isIn = (file: string, place: string) => file === place || file.startsWith(`${place}/`);
  return [...imports]
    .filter(([file]) => isIn(file, folder))
    .flatMap(([file, targets]) => targets.map((target) => [file, target] as const))
    .filter(([, target]) => ![folder, ...allowed].some((place) => isIn(target, place)))
    .map(([file, target]) => `${file} -> ${target}`);
}
