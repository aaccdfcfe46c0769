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

test("the README's table has exactly the doctor's findings", () => {
  const [, table = ''] = read('README.md').split('| finding | severity | when, and what to do |\n');
  const listed = all(table.split('\n\n')[0] as string, /^\| ([^-|][^|]*) \|/gm);
  const reported = findings();
  expect(reported.length).toBeGreaterThan(40);
  expect([...new Set(reported)].sort()).toEqual([...listed].sort());
});
