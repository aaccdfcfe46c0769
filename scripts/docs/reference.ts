import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { checkout } from '../stack/paths.ts';
import { settingsReference } from './configuration.ts';
import { httpReference } from './http.ts';
import { sqlReference } from './sql.ts';

/** What follows this line of a page is generated; what stands above is written by hand. */
export const mark = '<!-- `npm run reference` writes what follows. -->';

const commandReference = () =>
  execFileSync(process.execPath, [join(checkout, 'cli/reference.ts')], { encoding: 'utf8' });

const makers: Record<string, () => string | Promise<string>> = {
  http: httpReference,
  sql: sqlReference,
  cli: commandReference,
  configuration: settingsReference,
};

/** The reference pages by path, each with the generated part made anew. */
export async function referencePages(): Promise<Record<string, string>> {
  const pages: Record<string, string> = {};
  for (const [name, make] of Object.entries(makers)) {
    const path = `docs/reference/${name}.md`;
    const [written = ''] = readFileSync(join(checkout, path), 'utf8').split(mark);
    pages[path] = `${written.trimEnd()}\n\n${mark}\n\n${(await make()).trim()}\n`;
  }
  return pages;
}

if (process.argv[1] === import.meta.filename) {
  for (const [path, page] of Object.entries(await referencePages())) {
    writeFileSync(join(checkout, path), page);
    const words = page.split(/\s+/).length;
    process.stdout.write(`${path}: ${page.split('\n').length} lines, ${words} words\n`);
  }
  spawnSync('git', ['diff', '--stat', '--', 'docs/reference'], { cwd: checkout, stdio: 'inherit' });
}
