import { readFileSync } from 'node:fs';

/** The version in package.json, beside cli/ in the source tree and beside dist/ in the package. */
export function version(): string {
  const [beside, inDist] = ['../package.json', '../../package.json'].map((path) => {
    try {
      return JSON.parse(readFileSync(new URL(path, import.meta.url), 'utf8')).version as string;
    } catch {
      return null;
    }
  });
  return beside ?? inDist ?? 'unknown';
}
