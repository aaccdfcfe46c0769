import { expect, test } from 'vitest';
import { cycles, reachable } from './graph.ts';
import { dependencies, files, functions, literals } from './source_files.ts';

// A hook calls features, and features call the kernel. So hooks.sql is no part of the kernel here.
const isHooks = (file: string) => file === 'kernel/hooks.sql';
const layer = (file: string) => file.split('/')[0];

/** A file depends on another if the code of one of its functions names a function of the other. */
const edges = [...functions.values()].flatMap((from) =>
  dependencies(from).map((to) => ({ from, to })),
);
const between = edges.filter(({ from, to }) => from.file !== to.file);

test('the kernel calls other layers only through its hooks', () => {
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

test('each function has a comment: in the catalog if users may call it, otherwise above it', () => {
  const created = /(--[^\n]*\n)?^create or replace (?:function|procedure) (tock\.[\w{}]+)/gm;
  const bare = files.flatMap(({ name, sql }) =>
    [...sql.matchAll(created)]
      .filter(([, above, of]) => !above && !sql.includes(`comment on function ${of} is`))
      .map(([, , of]) => `${of} in ${name}`),
  );
  expect(bare).toEqual([]);
});

// The aims are 15,000 lines, 450 functions, and 60 functions that a claim reaches. The bounds are the counts when the
// redesign ended. Durable steps came later and have their own, and 227 lines and 4 functions in the folders of others.
// So have nodes: ranges of ids in segments, the guard where a look-up finds nothing, what Citus needs, and a next() that
// ends only, are 96 lines and 3 functions in the folders of others. Two functions move the schedules
// of a queue, and two the request ids of its last enqueues.
test('the SQL does not grow: lines, functions, and functions that a claim reaches', () => {
  const size = (isOf: (file: string) => boolean) => ({
    lines: files
      .filter(({ name }) => isOf(name))
      .reduce((sum, { sql }) => sum + sql.trimEnd().split('\n').length, 0),
    functions: [...functions.values()].filter(({ file }) => isOf(file)).length,
  });
  const isOf = (feature: string) => (file: string) => file.startsWith(`features/${feature}/`);
  const all = size((file) => !isOf('steps')(file) && !isOf('nodes')(file));
  expect(all.lines).toBeLessThanOrEqual(18_378 + 227 + 96);
  expect(all.functions).toBeLessThanOrEqual(624 + 4 + 3);
  const steps = size(isOf('steps'));
  expect(steps.lines).toBeLessThanOrEqual(800);
  expect(steps.functions).toBeLessThanOrEqual(24);
  const nodes = size(isOf('nodes'));
  expect(nodes.lines).toBeLessThanOrEqual(269);
  expect(nodes.functions).toBeLessThanOrEqual(13);
  const uses = new Map(
    [...functions.values()].map((sqlFunction) => [
      sqlFunction.name,
      dependencies(sqlFunction).map((to) => to.name),
    ]),
  );
  const maintenance = [
    'piggyback_maintenance',
    'guard_before_use',
    'check_sequence',
    'create_next_segment',
  ];
  // The guard: on_not_found(), refuse_elsewhere() and has_directory(), for a queue that is not there.
  expect(reachable(uses, 'claim', maintenance)).toBeLessThanOrEqual(81 + 3);
});

// The aims are 300 lines in strings and no line over 110 columns.
test('at most 256 lines of SQL are in strings, and no line is longer than 110 columns', () => {
  const inStrings = files.flatMap(({ sql }) => literals(sql)).flatMap((text) => text.split('\n'));
  expect(inStrings.filter((line) => line.trim()).length).toBeLessThanOrEqual(256);
  const long = files.flatMap(({ name, sql }) =>
    sql.split('\n').flatMap((line, at) => (line.length > 110 ? [`${name}:${at + 1}`] : [])),
  );
  expect(long.length, long.join('\n')).toBe(0);
});
