import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readSql } from '../../migrate/files.ts';
import { checkout } from '../../scripts/stack/paths.ts';

const read = (path: string) => readFileSync(join(checkout, path), 'utf8');
const all = (text: string, pattern: RegExp) => [...text.matchAll(pattern)].map(([, name]) => name);

/** The findings in the SQL of doctor(). A finding is the first or second expression of a row; its severity follows. */
function findings(): string[] {
  const files = readSql().functions.filter(({ name }) => name.startsWith('operations/doctor/'));
  const sql = files.map((file) => file.sql).join('');
  const named =
    /(?:select|\('\w+',) '((?:[^'\n]|'')+)',\s*(?:'(?:note|warning|critical)'|case when)/g;
  const code = read('functions/http/clock_skew.ts') + read('cli/diagnosis.ts');
  return [
    ...all(sql, named).map((name) => name?.replaceAll("''", "'")),
    ...all(code, /finding: '([^']+)'/g),
    ...all(code, /pooler\('(\w+)'/g).map((mode) => `the pooler is in ${mode} mode`),
  ] as string[];
}

/** The first column of the table of docs/operating/doctor.md. A link counts as its text. */
function listed(): string[] {
  const [, table = ''] = read('docs/operating/doctor.md').split(
    '| finding | severity | when, and what to do |\n',
  );
  const rows = (table.split('\n\n')[0] as string).replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1');
  return all(rows, /^\| ([^-|][^|]*) \|/gm) as string[];
}

test("the table of docs/operating/doctor.md has exactly the doctor's findings", () => {
  const reported = findings();
  expect(reported.length).toBeGreaterThan(40);
  expect([...new Set(reported)].sort()).toEqual(listed().sort());
});

test('docs/operating/troubleshooting.md has a heading for each finding, in the order of the table', () => {
  expect(all(read('docs/operating/troubleshooting.md'), /^## (.+)$/gm)).toEqual(listed());
});
