import { expect, test } from 'vitest';
import { type Mutant, mutants } from './mutants.ts';
import { folderOf, mutated, sourcesOf } from './plant.ts';

const sql = sourcesOf('sql');
const ofSql = mutants.filter((mutant) => folderOf(mutant) === 'sql');

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
