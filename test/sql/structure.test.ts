import { expect, test } from 'vitest';
import { cycles, reachable } from './graph.ts';
import { dependencies, files, functions, literals } from './source_files.ts';

// What a hook calls is a feature's; that the feature calls the kernel in turn is the purpose of a hook.
const isHooks = (file: string) => file === 'kernel/hooks.sql';
const layer = (file: string) => file.split('/')[0];

/** A file uses another when one of its functions names one of the other's in its code. */
const edges = [...functions.values()].flatMap((from) =>
  dependencies(from).map((to) => ({ from, to })),
);
const between = edges.filter(({ from, to }) => from.file !== to.file);

test('the kernel calls features, and all else, only through its hooks', () => {
  const wrong = between.filter(
    ({ from, to }) =>
      layer(from.file) === 'kernel' && layer(to.file) !== 'kernel' && !isHooks(from.file),
  );
  expect(wrong.map(({ from, to }) => `${from.name} -> ${to.name} (${to.file})`)).toEqual([]);
});

test('no files depend on each other in a cycle', () => {
  const uses = new Map<string, Set<string>>();
  for (const { from, to } of between) {
    if (isHooks(to.file)) continue;
    uses.set(from.file, (uses.get(from.file) ?? new Set()).add(to.file));
  }
  expect(cycles(uses)).toEqual([]);
});

test('files are short enough to be read', () => {
  const lines = files.map(({ name, sql }) => ({ name, count: sql.trimEnd().split('\n').length }));
  expect(lines.filter(({ count }) => count > 250)).toEqual([]);
  const sorted = lines.map(({ count }) => count).sort((a, b) => a - b);
  expect(sorted[Math.floor(sorted.length / 2)]).toBeLessThanOrEqual(90);
});

// The aims are 15,000 lines, 450 functions and 60 of them in the reach of a claim; these are what has been reached.
test('there is no more SQL than there was', () => {
  const lines = files.reduce((sum, { sql }) => sum + sql.trimEnd().split('\n').length, 0);
  expect(lines).toBeLessThanOrEqual(19_800);
  expect(functions.size).toBeLessThanOrEqual(670);
  const uses = new Map(
    [...functions.values()].map((one) => [one.name, dependencies(one).map((to) => to.name)]),
  );
  const maintenance = [
    'piggyback_maintenance',
    'guard_before_use',
    'check_sequence',
    'create_next_segment',
  ];
  expect(reachable(uses, 'claim', maintenance)).toBeLessThanOrEqual(86);
});

// The aims are 300 lines in strings and none over 110 columns.
test('no more SQL stands in strings, and no more lines are long, than was reached', () => {
  const inStrings = files.flatMap(({ sql }) => literals(sql)).flatMap((text) => text.split('\n'));
  expect(inStrings.filter((line) => line.trim()).length).toBeLessThanOrEqual(256);
  const long = files.flatMap(({ name, sql }) =>
    sql.split('\n').flatMap((line, at) => (line.length > 110 ? [`${name}:${at + 1}`] : [])),
  );
  expect(long.length, long.join('\n')).toBe(0);
});
