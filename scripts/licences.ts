import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { checkout } from './stack/paths.ts';

export type Locked = {
  version: string;
  license?: string;
  dev?: boolean;
  integrity?: string;
  hasInstallScript?: boolean;
};

export const page = 'docs/licences.md';

/** The packages of package-lock.json, by name. */
export function locked(): [name: string, Locked][] {
  const { packages } = JSON.parse(readFileSync(join(checkout, 'package-lock.json'), 'utf8'));
  return Object.entries<Locked>(packages)
    .filter(([path]) => path !== '')
    .map(([path, entry]) => [path.replace(/^.*node_modules\//, ''), entry]);
}

/** Lists the licences of the packages that users get, and counts the licences of the development packages. */
export function licences(): string {
  const all = locked();
  const shippedPackages = all.filter(([, { dev }]) => !dev);
  const rows = shippedPackages.map(
    ([name, { version, license }]) => `| ${name} | ${version} | ${license} |`,
  );
  const counts = new Map<string, number>();
  for (const [, { dev, license = 'not in the lock file' }] of all) {
    if (dev) counts.set(license, (counts.get(license) ?? 0) + 1);
  }
  const sortedCounts = [...counts].sort(([a], [b]) => (a < b ? -1 : 1));
  return `# Licences

Tock is under the MIT licence (LICENSE). What follows is made from package-lock.json: \`npm run licences\`.

## What comes with it

The client (\`client/\`) brings none of these along.

| package | version | licence |
|---|---|---|
${rows.join('\n')}

## What builds and tests it

None of these reaches a user.

| licence | packages |
|---|---|
${sortedCounts.map(([license, count]) => `| ${license} | ${count} |`).join('\n')}
`;
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  writeFileSync(join(checkout, page), licences());
