import { expect, test } from 'vitest';
import { neverFelt } from '../../scripts/torture/faults.ts';
import { type Fault, planFaults } from '../../scripts/torture/plan.ts';

const names = (seed: number, seconds: number) => planFaults(seed, seconds).map(({ name }) => name);

test('the same seed gives the same faults, another one others', () => {
  expect(planFaults(1, 600)).toEqual(planFaults(1, 600));
  expect(planFaults(1, 600)).not.toEqual(planFaults(2, 600));
});

test('even a short run has each kind of fault, and ten minutes have more than 50 kills', () => {
  const each = new Set(names(3, 600).map((name) => name.replace(/ between .*/, '')));
  const few = new Set(names(3, 6).map((name) => name.replace(/ between .*/, '')));
  expect([...few].sort()).toEqual([...each].sort());
  expect(names(3, 600).filter((name) => name.startsWith('kill')).length).toBeGreaterThan(50);
});

test('faults come in order, within the time', () => {
  const times = planFaults(5, 600).map(({ at }) => at);
  expect(times).toEqual(times.toSorted((a, b) => a - b));
  expect(times.at(-1)).toBeLessThan(600_000);
});

test('a kind of fault that did nothing to anybody is named', () => {
  const plan = [
    { name: 'pool filled' },
    { name: 'answers lost between pooler and server' },
    { name: 'kill -9 of backend' },
  ] as Fault[];
  const counts = new Map([
    ['fault pool filled (not felt)', 2],
    ['fault answers lost between client and workerd', 1],
    ['fault kill -9 of backend (nobody there)', 1],
  ]);
  expect(neverFelt(plan, counts)).toEqual(['pool filled', 'kill -9 of backend']);
  counts.set('fault pool filled', 1).set('fault kill -9 of backend (client backend)', 1);
  expect(neverFelt(plan, counts)).toEqual([]);
});
