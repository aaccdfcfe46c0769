import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { gunzipSync } from 'node:zlib';

const here = new URL('.', import.meta.url).pathname;
const fileLine = /^-- sql\/(.+\.sql)\n/m;

/** The releases there are, by the name of their file: sql/ as it was then, packed by pack.ts. */
export const releases = readdirSync(here)
  .filter((name) => name.endsWith('.sql.gz'))
  .map((name) => name.replace('.sql.gz', ''))
  .sort();

/** Does something with a folder like sql/, made of a release's files, or those of them that are wanted. */
export async function withRelease<T>(
  name: string,
  use: (directory: string) => Promise<T>,
  wanted: (file: string) => boolean = () => true,
): Promise<T> {
  const text = gunzipSync(readFileSync(join(here, `${name}.sql.gz`))).toString();
  const folder = mkdtempSync(join(tmpdir(), 'tock-sql-'));
  try {
    const [, ...parts] = text.split(fileLine);
    for (let n = 0; n < parts.length; n += 2) {
      if (!wanted(parts[n] as string)) continue;
      const path = join(folder, parts[n] as string);
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, parts[n + 1] as string);
    }
    return await use(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}
