import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import type { Report } from '../../bench/report.ts';
import { attempt } from '../../scripts/stack/run.ts';

const folder = mkdtempSync(join(tmpdir(), 'tock-bench-'));
const bench = (...args: string[]) =>
  attempt([process.execPath, resolve(import.meta.dirname, '../../bench/bench.ts'), ...args]);

afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('the benchmark measures Tock, the floor and the seeds, and writes what it found', async () => {
  const json = join(folder, 'figures.json');
  const short = ['--seconds', '0.3', '--rounds', '1', '--no-chart', '--json', json];
  const { code, output } = await bench(
    '--only',
    'claim + complete 100',
    '--systems',
    'single,per',
    ...short,
  );
  expect(code, output).toBe(0);
  const report: Report = JSON.parse(readFileSync(json, 'utf8'));
  expect(report.failures).toEqual([]);
  expect(report.cases.map(({ name, unit }) => [name, unit])).toEqual([
    ['claim + complete 100', 'tasks/s'],
  ]);
  const [benchCase] = report.cases;
  expect(benchCase?.tock).toBeGreaterThan(0);
  expect(benchCase?.floor).toBeGreaterThan(0);
  expect(Object.keys(benchCase?.peers ?? {})).toEqual(['single table', 'per-user tables']);
  for (const rate of Object.values(benchCase?.peers ?? {})) expect(rate).toBeGreaterThan(0);
  expect(benchCase?.windows?.tock).toHaveLength(1);
  expect(report.machine.cores).toBeGreaterThan(0);
  expect(report.versions.postgres).toMatch(/^\d/);
  expect(report.settings.postgres.data_checksums).toBe('on');
  expect(Object.keys(report.settings.systems)).toContain('floor');
  expect(benchCase?.group).toBe('batches');
  expect(report.seconds.batches).toBeGreaterThan(0);
  expect(report.command).not.toContain(folder);
  expect(readFileSync(join(folder, 'figures.md'), 'utf8')).toMatch(
    /^\| claim \+ complete 100 \| tasks\/s \| \*\*[\d,.]+\*\* \| [\d,.]+ \| [\d,.]+ \| [\d,.]+ \| [\d.]+ \|/m,
  );
  expect(output).toMatch(/^claim \+ complete 100 +tasks\/s +[\d,.]+/m);
});

test('a name that no case has is answered with those there are', async () => {
  const { code, output } = await bench('--only', 'nonsense');
  expect(code).toBe(2);
  expect(output).toContain('Nothing is called nonsense.');
  expect(output).toContain('claim + complete 100');
  expect(output).not.toMatch(/^ +at /m);
});
