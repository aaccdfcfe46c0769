import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { checkout } from '../../scripts/stack/paths.ts';

const folder = join(checkout, 'examples');
const folders = readdirSync(folder, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name);

test.each(folders)('the example %s is in the list, and has a test', (name) => {
  const index = readFileSync(join(folder, 'README.md'), 'utf8');
  expect(index).toContain(`| [${name}](${name}) |`);
  expect(existsSync(join(import.meta.dirname, `${name}.test.ts`))).toBe(true);
});
