import { expect, test } from 'vitest';
import { checkout } from '../../scripts/stack/paths.ts';
import { cycles, importsIn, importsOf, unusedFiles } from './imports.ts';

/** What each folder may import from beside itself. */
const allowed: Record<string, string[]> = {
  client: [],
  dashboard: ['client'],
  functions: ['client'],
  migrate: ['functions'],
  cli: ['client', 'functions', 'migrate'],
  scripts: ['client', 'functions', 'migrate'],
  'functions/database': ['functions/env.ts', 'functions/timeouts.ts'],
};

const folders = Object.keys(allowed).filter((folder) => !folder.includes('/'));
const imports = importsOf(checkout, folders);

test('no file imports itself by way of others, types included', () => {
  expect(cycles(imports)).toEqual([]);
});

test.each(Object.entries(allowed))('%s imports only from itself and from %j', (folder, beside) => {
  expect(unusedFiles(imports, folder, beside)).toEqual([]);
});

test('imports of values, of types, of a file alone, and while a file runs are found', () => {
  const text = `import { a } from './a.ts';
import type {
  B,
} from '../b.ts';
export { c } from './deep/c.tsx';
import './d.ts';
type E = import('./e.ts').E;
const f = await import('./f.ts');
import pg from 'pg';
`;
  const paths = ['x/a.ts', 'b.ts', 'x/deep/c.tsx', 'x/d.ts', 'x/e.ts', 'x/f.ts'];
  expect(importsIn('x/file.ts', text)).toEqual(paths);
});

test('a cycle of three files is found once, and what only leads to it is no part of it', () => {
  const made = new Map([
    ['entry.ts', ['a.ts']],
    ['a.ts', ['b.ts']],
    ['b.ts', ['c.ts', 'leaf.ts']],
    ['c.ts', ['a.ts']],
    ['leaf.ts', []],
  ]);
  expect(cycles(made)).toEqual([['a.ts', 'b.ts', 'c.ts']]);
});
