import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { checkout } from '../../scripts/stack/paths.ts';
import { edited, placesOf, type Source } from './match.ts';
import { type Mutant, mutants } from './mutants.ts';
import { folderOf, sourcesOf } from './plant.ts';

const sources = Object.fromEntries(
  [...new Set(mutants.map(folderOf))].map((f) => [f, sourcesOf(f)]),
);
const ofSql = mutants.filter((mutant) => folderOf(mutant) === 'sql');
const sql = sources.sql ?? [];

/** The files that a mutant changes, with its change. */
const mutated = (from: Source[], mutant: Mutant) => {
  const edits = placesOf(from, mutant);
  const changed = from.filter(({ path }) => edits.some((edit) => edit.path === path));
  return changed.map((source) => ({ path: source.path, text: edited(source, edits) }));
};

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

const words: [RegExp, string][] = [
  [/segment/g, 'chunk'],
  [/concurrency_key/g, 'mutex'],
  [/lease_range/g, 'take_range'],
  [/extended/g, 'further'],
  [/run_overrides/g, 'run_edits'],
  [/pending_changes/g, 'open_edits'],
  [/maintenance_job/g, 'chore'],
];
const changes: [string, (text: string) => string][] = [
  [
    'all words of the glossary',
    (text) => words.reduce((all, [old, now]) => all.replace(old, now), text),
  ],
  ['all local variables', (text) => text.replace(/\bv_(\w+)/g, 'v_its_$1')],
  [
    'what each mutant is in',
    (text) =>
      ofSql.reduce((all, mutant) => all.replaceAll(`${mutant.in}(`, `${mutant.in}_now(`), text),
  ],
  ['the layout', (text) => text.replace(/ (and|where) /g, '\n  -- so\n  $1 /* as before */ ')],
];
const bare = (text: string) => text.replace(/--.*|\/\*.*?\*\//g, '').replace(/\s+/g, '');

test.each(changes)('every mutant is the same one when %s changed', (_, change) => {
  const others = sql.map(({ path, text }) => ({ path, text: change(text) }));
  const alike = (mutant: Mutant) => {
    const now = mutated(others, mutant).map(({ text }) => bare(text));
    return (
      now.join() ===
      mutated(sql, mutant)
        .map(({ text }) => bare(change(text)))
        .join()
    );
  };
  expect(ofSql.filter((mutant) => !alike(mutant)).map(({ name }) => name)).toEqual([]);
});
