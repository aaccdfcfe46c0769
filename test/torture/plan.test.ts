import { expect, test } from 'vitest';
import { type Fault, planFaults } from '../../scripts/chaos/faults/plan.ts';
import { withoutEffect } from '../../scripts/chaos/faults/run.ts';

const planned = (seed: number, seconds: number, more: object = {}) =>
  planFaults({ driver: 'http', seed, seconds, ...more });
const names = (...of: Parameters<typeof planned>) => planned(...of).map(({ name }) => name);

test('the same seed gives the same faults, another one others', () => {
  expect(planned(1, 600)).toEqual(planned(1, 600));
  expect(planned(1, 600)).not.toEqual(planned(2, 600));
});

test('even a short run has each kind of fault, and ten minutes have more than 50 kills', () => {
  const each = new Set(names(3, 600).map((name) => name.replace(/ between .*/, '')));
  const few = new Set(names(3, 6).map((name) => name.replace(/ between .*/, '')));
  expect([...few].sort()).toEqual([...each].sort());
  expect(names(3, 600).filter((name) => name.startsWith('kill')).length).toBeGreaterThan(50);
});

test('faults come in order, within the time', () => {
  const times = planned(5, 600).map(({ at }) => at);
  expect(times).toEqual(times.toSorted((a, b) => a - b));
  expect(times.at(-1)).toBeLessThan(600_000);
});

test('SQL clients meet each kind of fault except those of workerd', () => {
  const sql = names(1, 60, { driver: 'sql' });
  expect(sql.filter((name) => /client and workerd|of workerd/.test(name))).toEqual([]);
  const kinds = (all: string[]) => [...new Set(all.map((name) => name.replace(/ between .*/, '')))];
  const others = kinds(names(1, 60)).filter((kind) => kind !== 'kill -9 of workerd');
  expect(kinds(sql).sort()).toEqual(others.sort());
});

test('a soak has no kills, broken connections or locks, and each of its own faults once a round', () => {
  const soak = names(1, 600, { soak: 60 });
  expect(soak.filter((name) => /kill|answers|refused|locked|deadlock|stopped/.test(name))).toEqual(
    [],
  );
  expect(soak.filter((name) => name === 'segment ended')).toHaveLength(10);
});

test('a kind of fault without any effect is named', () => {
  const plan = [
    { name: 'pool filled' },
    { name: 'answers lost between pooler and server' },
    { name: 'kill -9 of backend' },
  ] as Fault[];
  const counts = new Map([
    ['fault pool filled (no effect)', 2],
    ['fault answers lost between client and workerd', 1],
    ['fault kill -9 of backend (cut short by connection)', 1],
  ]);
  expect(withoutEffect(plan, counts)).toEqual(['pool filled', 'kill -9 of backend']);
  counts.set('fault pool filled', 1).set('fault kill -9 of backend (client backend)', 1);
  expect(withoutEffect(plan, counts)).toEqual([]);
});
