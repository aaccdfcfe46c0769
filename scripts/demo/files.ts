import { readdirSync } from 'node:fs';
import { join, relative } from 'node:path';

/** Paths of up to `limit` plain files under the folder's node_modules, relative to the folder. */
export function realFiles(root: string, limit: number): string[] {
  const paths: string[] = [];
  const folders = [join(root, 'node_modules')];
  for (let folder = folders.shift(); folder && paths.length < limit; folder = folders.shift()) {
    const entries = readdirSync(folder, { withFileTypes: true });
    for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
      // Folders with a leading dot are caches of tools: their files may change at any time.
      if (entry.name.startsWith('.')) continue;
      const path = join(folder, entry.name);
      if (entry.isDirectory()) folders.push(path);
      if (entry.isFile()) paths.push(relative(root, path));
    }
  }
  return paths.slice(0, limit);
}
