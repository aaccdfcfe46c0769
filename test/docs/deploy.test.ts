import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openApiDocument, operationsOf } from '../../scripts/docs/openapi.ts';
import { checkout } from '../../scripts/stack/paths.ts';

const read = (path: string) => readFileSync(join(checkout, path), 'utf8');
const deploy = read('docs/deploy.md');

const all = (text: string, pattern: RegExp) => [
  ...new Set([...text.matchAll(pattern)].map(([, name]) => name as string)),
];

test('each npm script, variable and verb in docs/deploy.md exists, and each route that it calls', async () => {
  const { scripts } = JSON.parse(read('package.json'));
  for (const name of all(deploy, /npm run ([a-z:]+)/g))
    expect(Object.keys(scripts)).toContain(name);

  const routes = operationsOf(await openApiDocument()).map(
    ({ method, path }) => `${method} ${path}`,
  );
  for (const path of all(deploy, /\$TOCK_URL(\/v1[^\s`]*)/g))
    expect(routes).toContain(`GET ${path}`);

  const bindings = read('functions/env.ts') + read('wrangler.toml') + read('cli/settings.ts');
  const named = all(deploy, /\b((?:TOCK|DATABASE|HYPERDRIVE)(?:_[A-Z]+)+)\b/g);
  expect(named).toEqual(expect.arrayContaining(['DATABASE_URL_ENDS', 'TOCK_MOST_AT_ONCE']));
  for (const name of named) expect(bindings, name).toMatch(new RegExp(`\\b${name}\\b`));

  const schema = read('sql/schema.sql');
  for (const verb of all(deploy, /\btock\.([a-z_]+)\(/g)) {
    expect(schema.includes(`function tock.${verb}(`), verb).toBe(true);
  }
});

test('wrangler.toml has the lines of docs/deploy.md as comments', () => {
  const lines = read('wrangler.toml')
    .split('\n')
    .map((line) => line.replace(/^# /, ''));
  const blocks = all(deploy, /^```toml\n([\s\S]*?)^```/gm);
  expect(blocks).toHaveLength(3);
  for (const line of blocks.join('').trim().split('\n')) expect(lines).toContain(line);
});

test('the Worker of npm start is built like the one that is deployed', () => {
  const first = (file: string) =>
    read(file)
      .split('\n')
      .filter((line) => /^(main|compatibility_\w+|minify|command|watch_dir) = /.test(line));
  expect(first('wrangler.local.toml')).toEqual(first('wrangler.toml'));
  expect(first('wrangler.toml')).toHaveLength(6);
  // With an environment, wrangler warns at each deploy that none was named.
  expect(read('wrangler.toml')).not.toMatch(/^\[+env\b/m);
});

test("the figures about sizing are those of the benchmark's results", () => {
  const sizing = deploy.split('\n## Sizing\n')[1]?.split('\n## ')[0] as string;
  const shown = (text: string) => all(text, /(?<![\d.,])(\d[\d,.]*\d|\d)(?![\d,]*\d)/g);
  const run = read('bench/results/2026-11-29.md');
  const figures = '2,451 116,005 335,940 7,088 113,719 195,599 435 237 0.96 282 978';
  for (const figure of figures.split(' ')) {
    expect(shown(sizing), figure).toContain(figure);
    expect(run, figure).toContain(`**${figure}**`);
  }
});
