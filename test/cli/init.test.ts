import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { nodeAdvice } from '../../cli/commands/init.ts';
import { checkout } from '../../scripts/stack/paths.ts';
import { tock } from './tock.ts';

function emptyFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'tock-init-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

const readJson = (...path: string[]) => JSON.parse(readFileSync(join(...path), 'utf8'));

test('a new project has the name of its folder and the version of Tock', async () => {
  const cwd = emptyFolder();
  const { code, out } = await tock(['init', 'apps/mail-app'], { cwd });
  expect(code).toBe(0);
  expect(out).toMatch(
    /^apps\/mail-app is written\. Next:\n\n {2}cd apps\/mail-app\n {2}npm install\n/,
  );
  const folder = join(cwd, 'apps', 'mail-app');
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  expect(files.sort()).toEqual([
    '.dev.vars.example',
    '.gitignore',
    'README.md',
    'package.json',
    'src',
    ...['client', 'greet', 'greetings', 'index', 'queues', 'schedules'].map((n) => `src/${n}.ts`),
    'test',
    'test/greetings.test.ts',
    'tsconfig.json',
    'wrangler.toml',
  ]);
  const { version } = readJson(checkout, 'package.json');
  const { name, dependencies } = readJson(folder, 'package.json');
  expect([name, dependencies]).toEqual(['mail-app', { tock: `^${version}` }]);
  expect(readFileSync(join(folder, 'wrangler.toml'), 'utf8')).toMatch(/^name = "mail-app"\n/);
});

test('a project is written into an empty folder, and --json lists its files', async () => {
  const cwd = join(emptyFolder(), 'here');
  mkdirSync(cwd);
  const { out } = await tock(['init', '.', '--json'], { cwd });
  const files = expect.arrayContaining(['src/index.ts']);
  expect(JSON.parse(out)).toMatchObject({ name: 'here', folder: cwd, files });
});

test.each([
  ['My_App', 2, /^My_App is not a name for a project\.\nnpm and Cloudflare allow .* my-app\.\n$/],
  ['a'.repeat(64), 2, /^a+ is not a name/],
  ['tock', 2, /^The project installs a package named tock\.\nChoose another name\.\n$/],
  ['full', 1, /full is not empty\.\nGive a folder that is new or empty\.\n$/],
  ['full/file', 1, /full\/file is a file\.\nGive a folder that is new or empty\.\n$/],
])('%s is refused', async (folder, code, err) => {
  const cwd = emptyFolder();
  mkdirSync(join(cwd, 'full'));
  writeFileSync(join(cwd, 'full', 'file'), '');
  const refused = { code, out: '', err: expect.stringMatching(err) };
  expect(await tock(['init', folder], { cwd })).toEqual(refused);
  expect(readdirSync(cwd)).toEqual(['full']);
});

test('a Node that is too old for the project is named, with what to do', () => {
  expect(nodeAdvice('20.20.2')).toMatch(
    /^\nThe project needs Node 22\.18\.0 or newer, and this is Node 20\.20\.2: .*\n.*\n.*npm install --save-dev node@24\n$/,
  );
  expect(nodeAdvice('22.9.0')).not.toBe('');
  for (const node of ['22.18.0', '24.0.0']) expect(nodeAdvice(node)).toBe('');
});

test('a project has the versions with which Tock itself is tested', () => {
  const template = join(checkout, 'cli', 'init', 'template');
  const { devDependencies, engines } = readJson(template, 'package.json');
  expect(readJson(checkout, 'package.json').devDependencies).toMatchObject(devDependencies);
  const wrangler = readJson(checkout, 'node_modules', 'wrangler', 'package.json');
  expect(wrangler.engines.node).toBe('>=22.0.0');
  expect(engines.node).toBe('>=22.18.0');
  const settings = (folder: string) =>
    readFileSync(join(folder, 'wrangler.toml'), 'utf8').match(/^compatibility_.*$/gm);
  expect(settings(template)).toEqual(settings(checkout));
});

test('the three packages have one version', () => {
  const { version } = readJson(checkout, 'package.json');
  expect(readJson(checkout, 'client', 'package.json').version).toBe(version);
  const create = readJson(checkout, 'create', 'package.json');
  expect([create.version, create.dependencies.tock]).toEqual([version, version]);
});

test('the client package has the entries and the dependency versions of the whole package', () => {
  const whole = readJson(checkout, 'package.json');
  const client = readJson(checkout, 'client', 'package.json');
  expect(whole.dependencies).toMatchObject(client.dependencies);
  const files = (entries: Record<string, { default?: string }>, folder: string) =>
    Object.values(entries).flatMap((entry) => entry.default?.replace(folder, '') ?? []);
  const ofWhole = files(whole.exports, './dist/client/').filter((file) => !file.startsWith('.'));
  expect(files(client.exports, './dist/').sort()).toEqual(ofWhole.sort());
});
