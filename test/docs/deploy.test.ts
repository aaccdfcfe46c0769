import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openApiDocument, operationsOf } from '../../scripts/docs/openapi.ts';
import { checkout } from '../../scripts/stack/paths.ts';
import { attempt } from '../../scripts/stack/run.ts';

const read = (path: string) => readFileSync(join(checkout, path), 'utf8');
const deploy = read('docs/deploy.md');

const all = (text: string, pattern: RegExp) => [
  ...new Set([...text.matchAll(pattern)].map(([, name]) => name as string)),
];

test('each command of tock in docs/deploy.md exists, with its options', async () => {
  const named = [...deploy.matchAll(/(?:npm run tock --|`tock) ([a-z][a-z-]*)((?: [^`\n#]*)?)/g)];
  const commands = Map.groupBy(named, ([, name]) => name as string);
  expect([...commands.keys()]).toEqual(expect.arrayContaining(['doctor', 'enqueue', 'key']));
  const help = async (words: string[]) => {
    const argv = [process.execPath, join(checkout, 'cli/main.ts'), ...words, '--help'];
    const { code, output } = await attempt(argv);
    expect(code, words.join(' ')).toBe(0);
    expect(output).toContain(`Usage: tock ${words.join(' ')}`);
    return output;
  };
  const known = all(await help([]), /^ {2}([a-z]+)/gm);
  expect(known).toEqual(expect.arrayContaining([...commands.keys()]));
  const options = async (name: string, uses: string[]) => {
    const wanted = uses.flatMap((rest) => rest.match(/--[a-z-]+/g) ?? []);
    if (wanted.length === 0) return;
    const under = all(uses.join('\n'), /^ ([a-z]+)\b/gm).slice(0, name === 'key' ? 1 : 0);
    const out = await help([name, ...under]);
    for (const option of wanted) expect(out, `tock ${name}`).toContain(option);
  };
  const uses = (all: RegExpMatchArray[]) => all.map(([, , rest = '']) => rest);
  await Promise.all([...commands].map(([name, all]) => options(name, uses(all))));
});

test('each npm script, route, variable, verb and file in docs/deploy.md exists', async () => {
  const { scripts } = JSON.parse(read('package.json'));
  for (const name of all(deploy, /npm run ([a-z:]+)/g))
    expect(Object.keys(scripts)).toContain(name);

  const routes = operationsOf(await openApiDocument()).map(
    ({ method, path }) => `${method} ${path.replaceAll(/\{(\w+)\}/g, ':$1')}`,
  );
  const routesNamed = all(deploy, /`((?:GET|POST|PUT|PATCH|DELETE) \/[^`]+)`/g);
  expect(routesNamed.length).toBeGreaterThan(3);
  for (const route of routesNamed) expect(routes).toContain(route);
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
  for (const path of all(deploy, /`((?:test|examples|functions|docs)\/[\w./-]+)`/g)) {
    expect(existsSync(join(checkout, path)), path).toBe(true);
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
  const runs = ['', '-batches', '-space'].map((end) => read(`bench/results/2026-11-22${end}.md`));
  for (const figure of [
    '1,858',
    '114,811',
    '474,623',
    '3,461',
    '100,458',
    '155,391',
    '644',
    '410',
    '0.99',
    '297',
    '978',
  ]) {
    expect(shown(sizing), figure).toContain(figure);
    expect(runs.join('\n'), figure).toContain(`**${figure}**`);
  }
});
