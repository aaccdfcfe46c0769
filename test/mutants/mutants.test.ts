import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { checkout } from '../../scripts/stack/paths.ts';
import { placesOf } from './match.ts';
import { mutants } from './mutants.ts';
import { folderOf, mutated, sourcesOf } from './plant.ts';

const sources = Object.fromEntries(
  [...new Set(mutants.map(folderOf))].map((f) => [f, sourcesOf(f)]),
);

// test/mutants/run.ts checks that each mutant is caught, which takes hours. This test keeps the list valid meanwhile.
test.each(mutants)('the mutant "$name" has its place, and its test', (mutant) => {
  const from = sources[folderOf(mutant)] ?? [];
  expect(mutated(from, mutant)).not.toEqual([]);
  // A mutant with only one place in all files is still found after its function is renamed.
  if (mutant.in !== 'sql')
    expect(placesOf(from, { ...mutant, in: folderOf(mutant) })).toHaveLength(1);
  const [file, name] = mutant.caught;
  const text = readFileSync(join(checkout, 'test', file), 'utf8').replaceAll("\\'", "'");
  expect(text).toContain(name);
});

test('no two mutants have one name', () => {
  expect(new Set(mutants.map(({ name }) => name)).size).toBe(mutants.length);
});
