import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { checkout } from '../../scripts/stack/paths.ts';
import { freshDatabase } from '../database.ts';

test('the functions in the table of the README exist, with these parameters', async () => {
  const readme = readFileSync(join(checkout, 'README.md'), 'utf8');
  const [, table = ''] = readme.split('| verb | does |\n');
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
    // The README may omit the last parameters if they have defaults.
    const exists = (call: string) =>
      known.some(
        (name) =>
          name === call ||
          name.startsWith(`${call}, `) ||
          (call.endsWith('(') && name.startsWith(call)),
      );
    expect(listed.filter((call) => !exists(call))).toEqual([]);
  } finally {
    await database.drop();
  }
});
