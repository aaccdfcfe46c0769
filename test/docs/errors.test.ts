import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { createApp } from '../../functions/http/app.ts';
import { titles } from '../../functions/http/problem.ts';
import { readSql } from '../../migrate/files.ts';
import { buildPages, errorPages } from '../../scripts/modules/pages.ts';
import { checkout } from '../../scripts/stack/paths.ts';
import { tock } from '../cli/tock.ts';

const pages = errorPages();
const sql = readSql()
  .functions.map((file) => file.sql)
  .join('\n');
const functions = join(checkout, 'functions');
const sources = readdirSync(functions, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts') && !file.endsWith('built.ts'))
  .map((file) => readFileSync(join(functions, file), 'utf8'));

beforeAll(buildPages);

test('each type of a problem has a page with its title, and each page has a type', () => {
  const headings = Object.entries(titles).map(([status, title]) => [
    `TK${status}`,
    `# TK${status}: ${title}`,
  ]);
  expect(Object.entries(pages).map(([code, page]) => [code, page.split('\n')[0]])).toEqual(
    headings,
  );
});

test('each SQLSTATE that SQL or the Worker raises has a page', () => {
  const raised = [sql, ...sources].flatMap((text) => [
    ...[...text.matchAll(/\brefuse\(\s*(\d{3})\b/g)].map(([, status]) => `TK${status}`),
    ...[...text.matchAll(/\brefusal\(\s*(\d{3})\b/g)].map(([, status]) => `TK${status}`),
    ...[...text.matchAll(/'(TK[1-9]\d\d)'/g)].map(([, code]) => code),
  ]);
  expect(new Set(raised).size).toBeGreaterThan(10);
  expect(Object.keys(pages)).toEqual(expect.arrayContaining(raised));
});

/** Source text without the quotes between the parts of a literal that is split over lines. */
const joined = [sql, ...sources]
  .join('\n')
  .replaceAll("''", "'")
  .replaceAll('\\\\', '\\')
  .replaceAll(/' \+?\s*\n\s*'/g, ' ')
  .replaceAll(/\s+/g, ' ');

test('the source has each text that a page lists as a cause', () => {
  const texts = Object.entries(pages).flatMap(([code, page]) => {
    const causes = page.split('\n## ')[1] ?? '';
    return [...causes.matchAll(/`([^`]+)`/g)]
      .map(([, text = '']) => ({ code, text }))
      .filter(({ text }) => text.includes(' ') && !/^(GET|Bearer) /.test(text));
  });
  expect(texts.length).toBeGreaterThan(60);
  // What is in braces, and numbers, are filled in; a field comes before a colon.
  const missing = texts.filter(
    ({ text }) =>
      !text
        .split(/\{\w+\}|\d[\d,]*|[:;] /)
        .map((part) => part.trim())
        .filter((part) => part.length > 3)
        .every((part) => joined.includes(part)),
  );
  expect(missing).toEqual([]);
});

test('docs/reference/errors.md has a row for each page', () => {
  const overview = readFileSync(join(checkout, 'docs/reference/errors.md'), 'utf8');
  const rows = [...overview.matchAll(/^\| \[(TK\d{3})\]\(\.\.\/errors\/\1\.md\) \|/gm)];
  expect(rows.map(([, code]) => code)).toEqual(Object.keys(pages));
});

const app = createApp(() => Promise.reject(new Error('no database')));

test('the server shows the page to which the type of a problem leads, without a key', async () => {
  const refused = await app.request('/v1/queues');
  const { type } = (await refused.json()) as { type: string };
  const reply = await app.request(new URL(type, 'https://tock.example/v1/queues'));
  expect(reply.status).toBe(200);
  expect(reply.headers.get('content-type')).toMatch(/^text\/plain; charset=utf-8$/i);
  expect(await reply.text()).toBe(pages.TK401);
});

test('an unknown code is a 404 that lists the codes', async () => {
  for (const code of ['TK999', 'toString', 'tk422']) {
    const reply = await app.request(`/errors/${code}`);
    expect(reply.status).toBe(404);
    expect(await reply.json()).toMatchObject({
      type: '/errors/TK404',
      detail: 'There is no error with this code.',
      hint: `The codes are ${Object.keys(pages).join(', ')}.`,
    });
  }
});

test('the command line shows the page of a code, and lists the codes', async () => {
  for (const code of ['TK422', 'tk422', '422'])
    expect(await tock(['errors', code])).toEqual({ code: 0, out: pages.TK422, err: '' });
  const { out } = await tock(['errors']);
  expect(out).toMatch(/^code +title\nTK400 +The request is malformed\n/);
  expect(await tock(['errors', 'TK999'])).toMatchObject({
    code: 3,
    err: 'There is no error TK999.\n`tock errors` lists the codes.\n',
  });
});
