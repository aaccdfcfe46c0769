import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { page } from '../../bench/page/page.ts';
import { type Report, shown } from '../../bench/report.ts';
import type { Case } from '../../bench/types.ts';
import { checkout } from '../../scripts/stack/paths.ts';
import { attempt } from '../../scripts/stack/run.ts';

const caseWith = (more: Partial<Case>): Case => ({
  group: 'batches',
  name: 'enqueue 1',
  unit: 'tasks/s',
  tock: 1234,
  floor: 5678,
  peers: { 'pg-boss': 2222, 'single table': null },
  note: '',
  ...more,
});

const small: Report = {
  date: '2026-11-23T08:00:00.000Z',
  command: 'npm run bench -- --only "a<b"',
  machine: { cpu: 'Some <cpu>', cores: 2 },
  versions: { postgres: '15.20', tock: 'abc1234' },
  settings: {
    postgres: { fsync: 'on' },
    windows: { seconds: 1.5, warm_up: 0.75, rounds: 3, clients: 8 },
    systems: {
      tock: { version: 'this checkout', settings: ['by `claim`'], lacks: ['nothing & all'] },
    },
  },
  cases: [
    caseWith({ windows: { tock: [1111, 1234, 1357] } }),
    caseWith({ name: 'WAL 100', unit: 'bytes/task', tock: 321, peers: { 'pg-boss': 987 } }),
    caseWith({ name: 'whole life 1', tock: 999, peers: { 'pg-boss': 1001 } }),
    caseWith({
      group: 'held',
      name: 'held 1: last of first',
      unit: 'ratio',
      tock: 0.91,
      floor: null,
      peers: { 'pg-boss': 0.33 },
      windows: { tock: [4321, 4322, 4323, 4324], 'pg-boss': [7654, 543, 432, 321] },
    }),
    caseWith({
      group: 'latency',
      name: 'start latency, p50',
      unit: 'ms',
      peers: {},
      windows: { tock: [31.25, 13.75, 10.25, 12.5] },
    }),
    caseWith({ group: 'http', name: 'http claim', peers: {}, note: '322 <i>tasks</i>' }),
  ],
  seconds: { batches: 254, held: 487, latency: 91, http: 39 },
  left_out: ['queues'],
  failures: ['payloads: it ended'],
};

const text = (html: string) =>
  html.replace(/<style>[\s\S]*?<\/style>/, '').replace(/<[^>]+>/g, '\n');
const cells = (html: string) => new Set(text(html).split(/\s*\n\s*/));

test('the page of a run holds each of its figures', () => {
  const all = cells(page(small));
  for (const { tock, floor, peers } of small.cases) {
    for (const value of [tock, floor, ...Object.values(peers)]) expect(all).toContain(shown(value));
  }
  const samples = small.cases.slice(3, 5).flatMap(({ windows }) => Object.values(windows ?? {}));
  for (const value of samples.flat()) expect(all).toContain(shown(value));
  expect(page(small)).toContain('title="1,111 to 1,357"');
  const pageText = text(page(small));
  const words = `Some &lt;cpu&gt;, 15.20, abc1234, fsync on, 8 connections, nothing &amp; all, payloads: it ended,
    Left out: queues, npm run bench -- --only &quot;a&lt;b&quot;`;
  for (const word of words.split(/,\s+/)) expect(pageText).toContain(word);
  expect(page(small)).toContain('322 &lt;i&gt;tasks&lt;/i&gt;');
});

test('the page says where Tock is worse before it says where it is better, costs turned round', () => {
  const pageText = text(page(small));
  const words = 'the worst first, 0.56 ×, no difference, 1.00 ×, is better, 2.76 ×, 3.07 ×';
  const at = words.split(', ').map((word) => pageText.indexOf(word));
  expect(at).toEqual(at.toSorted((a, b) => a - b));
  expect(at).not.toContain(-1);
  expect(pageText).toContain(
    'worse than the best of graphile-worker, pg-boss, single table in 1,\nbetter in 2, and within a twentieth in 1',
  );
});

test('the page asks the network for nothing and runs nothing', () => {
  const html = page(small);
  expect(html).not.toMatch(/<script|<link rel="stylesheet|<img|<iframe|@import|url\(|https?:\/\//);
  const targets = [...html.matchAll(/(?:href|src)="([^"]*)"/g)].map(([, to]) => to as string);
  expect(targets.filter((to) => !to.startsWith('#'))).toEqual(['data:,']);
  for (const to of targets.filter((to) => to.startsWith('#')))
    expect(html).toContain(`id="${to.slice(1)}"`);
});

test('the pages in bench/results are what their figures make, and the command makes them', async () => {
  const results = join(checkout, 'bench/results');
  const pages = readdirSync(results).filter((name) => name.endsWith('.html'));
  expect(pages).not.toEqual([]);
  for (const name of pages) {
    const made = readFileSync(join(results, name), 'utf8');
    const report = JSON.parse(readFileSync(join(results, name.replace('html', 'json')), 'utf8'));
    expect(made === page(report), name).toBe(true);
    expect(made.length).toBeLessThan(300_000);
  }
  const folder = mkdtempSync(join(tmpdir(), 'tock-page-'));
  try {
    writeFileSync(join(folder, 'small.json'), JSON.stringify(small));
    const bench = resolve(import.meta.dirname, '../../bench/bench.ts');
    const of = (name: string) => attempt([process.execPath, bench, '--page', join(folder, name)]);
    const [made, none] = await Promise.all([of('small.json'), of('none.json')]);
    expect(made.code, made.output).toBe(0);
    expect(readFileSync(join(folder, 'small.html'), 'utf8')).toBe(page(small));
    expect([none.code, none.output]).toEqual([2, expect.stringContaining('There is no file')]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
