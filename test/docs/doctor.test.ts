import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { createApp } from '../../functions/http/app.ts';
import { pageName } from '../../functions/http/findings.ts';
import { readSql } from '../../migrate/files.ts';
import { buildPages, findingPages } from '../../scripts/modules/pages.ts';
import { checkout } from '../../scripts/stack/paths.ts';
import { tock } from '../cli/tock.ts';

const read = (path: string) => readFileSync(join(checkout, path), 'utf8');
const all = (text: string, pattern: RegExp) => [...text.matchAll(pattern)].map(([, name]) => name);

const files = readSql().functions.filter(({ name }) =>
  /^(operations\/(doctor\/|explain\/waits)|features\/nodes\/doctor)/.test(name),
);
const sql = files.map((file) => file.sql).join('');
const code = read('functions/http/clock_skew.ts') + read('cli/diagnosis.ts');
const pages = findingPages();

beforeAll(buildPages);

/** The findings in the SQL of doctor(). A finding is the first or second expression of a row; its severity follows. */
function findings(): string[] {
  const named =
    /(?:select|\('\w+',) '((?:[^'\n]|'')+)',\s*(?:'(?:note|warning|critical)'|case when)/g;
  const doctor = sql.split('create or replace function tock.keys_at_limit')[0] as string;
  return [
    ...new Set([
      ...all(doctor, named).map((name) => name?.replaceAll("''", "'")),
      ...all(code, /finding: '([^']+)'/g),
      ...all(code, /pooler\('(\w+)'/g).map((mode) => `the pooler is in ${mode} mode`),
    ]),
  ] as string[];
}

test('each finding has a page of its name, and each page is of a finding', () => {
  const headings = Object.entries(pages).map(([name, page]) => [name, page.split('\n')[0]]);
  expect(headings.length).toBeGreaterThan(40);
  expect(headings.sort()).toEqual(
    findings()
      .map((finding) => [pageName(finding), `# ${finding}`])
      .sort(),
  );
});

test('the table of docs/operating/doctor.md has a row for each page', () => {
  const rows = all(read('docs/operating/doctor.md'), /^\| (\[.*?\]\(.*?\)) \|/gm);
  const links = findings().map((finding) => `[${finding}](../findings/${pageName(finding)}.md)`);
  expect(rows.sort()).toEqual(links.sort());
});

/** What stands in quotes in the source, in parts between values. */
const texts = [
  ...(sql.replaceAll(/-- .*$/gm, '') + code.replaceAll(/^ *(\/?\*.*|\/\/.*)$/gm, ''))
    .replaceAll(/'\s*\n\s*'/g, '')
    .matchAll(/'((?:[^'\n]|'')*)'|`([^`]*)`|"([^"\n]*)"/g),
]
  .map(([, ...quoted]) => quoted.join('').replaceAll("''", "'"))
  .map((text) => text.trim().split(/%(?:\d\$)?[sLI]|\$\{[^}]*\}/))
  .filter((parts) => parts.join('').length > 5);

/** True if a text of the source stands in the line, with any values between its parts. */
const isFromSource = (line: string) =>
  texts.some((parts) => {
    let end = 0;
    return parts.every((part) => {
      const start = line.indexOf(part, end);
      end = start + part.length;
      return start >= 0;
    });
  });

/** A detail without words of the source. */
const onlyValues = 'standby_1 (physical): lost';

test('a page shows the finding as the source words it, and says why it comes, what to do and when it is over', () => {
  for (const [name, page] of Object.entries(pages)) {
    expect(all(page, /^## (.*)$/gm), name).toEqual([
      'The finding',
      'Why it happens',
      'What to do',
      'When it is over',
    ]);
    const shown = /```\n(\w+): (.*)\n {2}(.*)\n {2}(.*)\n```/.exec(page) ?? [];
    const [, severity, finding, detail = '', hint = ''] = shown;
    expect(['critical', 'warning', 'note'], name).toContain(severity);
    expect(`# ${finding}`).toBe(page.split('\n')[0]);
    expect(
      [detail, hint].filter((line) => line !== onlyValues && !isFromSource(line)),
      name,
    ).toEqual([]);
    expect(page.split('\n').length, name).toBeLessThan(42);
  }
});

test('each `tock findings NAME` in docs and alerts is the name of a page', () => {
  const sources = ['monitoring/alerts.yaml', 'docs/operating/doctor.md'].map(read).join('');
  const named = all(sources, /`tock findings ([a-z][\w-]*)/g);
  expect(named.length).toBeGreaterThan(5);
  expect(Object.keys(pages)).toEqual(expect.arrayContaining(named));
});

const app = createApp(() => Promise.reject(new Error('no database')));

test('the server shows the page of a finding without a key, and lists the names', async () => {
  const reply = await app.request('/findings/the-clocks-differ');
  expect(reply.status).toBe(200);
  expect(await reply.text()).toBe(pages['the-clocks-differ']);
  const unknown = await app.request('/findings/toString');
  expect(unknown.status).toBe(404);
  expect(await unknown.json()).toMatchObject({
    detail: 'There is no finding with this name.',
    hint: `The names are ${Object.keys(pages).join(', ')}.`,
  });
});

test('the command line shows the page of a name or a text, and lists the names', async () => {
  for (const name of ['the-clocks-differ', 'the clocks differ']) {
    const out = pages['the-clocks-differ'];
    expect(await tock(['findings', name])).toEqual({ code: 0, out, err: '' });
  }
  const { out } = await tock(['findings']);
  expect(out).toMatch(/^name +title\n/);
  expect(out).toMatch(/^the-clocks-differ +the clocks differ$/m);
  expect(await tock(['findings', 'nothing'])).toMatchObject({
    code: 3,
    err: 'There is no finding nothing.\n`tock findings` lists the names.\n',
  });
});
