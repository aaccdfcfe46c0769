import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { checkout } from '../../scripts/stack/paths.ts';
import { freshDatabase } from '../database.ts';

test('the functions in the table of docs/reference/sql.md exist, with these parameters', async () => {
  const page = readFileSync(join(checkout, 'docs/reference/sql.md'), 'utf8');
  const [, table = ''] = page.split('| verb | does |\n');
  const listed = [...(table.split('\n\n')[0] as string).matchAll(/`(\w+\()([^)]*)\)`?/g)].map(
    ([, name, list]) => name + (list as string).replace(/ (?!p_)[^,]*/g, ''),
  );
  expect(listed.length).toBeGreaterThan(60);
  const database = await freshDatabase();
  try {
    const client = await database.connect();
    const { rows } = await client.query(`
      select p.proname || '(' || coalesce(array_to_string(p.proargnames[1:p.pronargs], ', '), '') as function
      from pg_proc p where p.pronamespace = 'tock'::regnamespace`);
    const known = rows.map((row) => row.function as string);
    // The page may omit the last parameters if they have defaults.
    const exists = (one: string) =>
      known.some(
        (name) =>
          name === one ||
          name.startsWith(`${one}, `) ||
          (one.endsWith('(') && name.startsWith(one)),
      );
    expect(listed.filter((one) => !exists(one))).toEqual([]);
  } finally {
    await database.drop();
  }
});
