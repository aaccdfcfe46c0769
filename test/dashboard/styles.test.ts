import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { about, bytes, duration, shortNumber } from '../../dashboard/format.ts';
import { withUnit } from '../../dashboard/settings.ts';
import { checkout } from '../../scripts/stack/paths.ts';

const folder = join(checkout, 'dashboard');
const files = readdirSync(folder, { recursive: true, encoding: 'utf8' });
const read = (name: string) => readFileSync(join(folder, name), 'utf8');
const withoutComments = (css: string) => css.replace(/\/\*.*?\*\//gs, '');
const sheets = files.filter((name) => name.endsWith('.css'));
const source = files
  .filter((name) => /\.tsx?$/.test(name))
  .map(read)
  .join('\n');

test('no style sheet is longer than 250 lines, and all are imported', () => {
  const index = read('styles.css');
  for (const name of sheets) {
    expect(read(name).split('\n').length, name).toBeLessThanOrEqual(250);
    if (name !== 'styles.css') expect(index).toContain(`"./${name}"`);
  }
});

test('each class of the style sheets is used, and so is each token', () => {
  const css = sheets.map(read).map(withoutComments).join('\n');
  const selectors = css.replace(/\{[^{}]*\}/g, '{}').replace(/@import[^;]*;/g, '');
  const classes = new Set([...selectors.matchAll(/\.([a-z][\w-]*)/g)].map(([, name]) => name));
  // uPlot and the states of the server name these.
  for (const name of ['uplot', 'u-legend', 'u-marker', 'overlapped']) classes.delete(name);
  const isUsed = (name = '') => new RegExp(`\\b${name}\\b`).test(source);
  expect([...classes].filter((name) => !isUsed(name))).toEqual([]);
  const tokens = [...css.matchAll(/^ {2}(--[\w-]+):/gm)].map(([, name = '']) => name);
  const inUse = (name: string) => css.includes(`var(${name})`) || source.includes(`'${name}'`);
  expect(tokens.length).toBeGreaterThan(40);
  expect(tokens.filter((name) => !inUse(name))).toEqual([]);
});

test('only the tokens name colours, so both themes are complete', () => {
  for (const name of sheets.filter((sheet) => !sheet.endsWith('tokens.css')))
    expect(withoutComments(read(name)), name).not.toMatch(/#[0-9a-f]{3,8}\b|\brgb\(|light-dark\(/);
});

test('a value stays on one line with its unit', () => {
  for (const n of [0, 0.2, 3.4, 15, 911, 8000, 100_000, 5e6, 5e9]) {
    const texts = [duration(n), about(n), bytes(n), shortNumber(n), withUnit('lease_seconds', n)];
    for (const text of texts) expect(text).not.toMatch(/[\d≈] /);
  }
});
