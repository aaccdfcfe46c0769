import { execFileSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { checkout } from '../../scripts/stack/paths.ts';
import { serveApp } from '../cli/served.ts';
import { execute } from '../cli/tock.ts';
import { clientBundle } from '../client/bundle.ts';
import { freshDatabase } from '../database.ts';
import { whyUnavailable } from '../examples/programs.ts';
import { type Block, blocksOf, commandsOf, masked } from './blocks.ts';
import { hasPsql } from './page.ts';

const folders = [
  'README.md',
  'docs/getting-started.md',
  'docs/concepts.md',
  'docs/steps-compared.md',
  'docs/guides',
  'docs/quickstarts',
  'docs/recipes',
  'docs/errors',
  'docs/moving-in',
];
const pages = execFileSync('git', ['ls-files', ...folders], { cwd: checkout, encoding: 'utf8' })
  .trim()
  .split('\n');

const read = (page: string) => blocksOf(readFileSync(join(checkout, page), 'utf8'));

/**
 * Scripts that run until a signal, or in a Worker. test/client/guide, test/consumers/guide, test/push/serve and
 * test/docs/quickstarts run them.
 */
const elsewhere = /'tock\/(client\/node|receiver|worker)'/;

/** SQL of other products: test/docs/moving-in.test.ts runs the statements that move their tasks. */
const ofPeers = /\b(pgboss|graphile_worker|pgmq)\./;

let folder: string;
let lacking: string | null;
let psql: boolean;
beforeAll(async () => {
  lacking = await whyUnavailable(['curl', 'jq']);
  psql = await hasPsql();
  folder = mkdtempSync(join(tmpdir(), 'tock-blocks-'));
  const cli = join(checkout, 'cli', 'main.ts');
  writeFileSync(join(folder, 'tock'), `#!/bin/sh\nexec "${process.execPath}" "${cli}" "$@"\n`);
  chmodSync(join(folder, 'tock'), 0o755);
});
afterAll(() => rmSync(folder, { recursive: true }));

/** Runs a page's block in bash or Node. Returns what it printed. */
async function print(argv: string[], env: Record<string, string>): Promise<string> {
  const { code, out, err } = await execute(argv, { env, cwd: folder });
  if (code !== 0) throw new Error(`${argv.at(-1)}\nended with ${code}: ${out}${err}`);
  return out;
}

const bash = (text: string, env: Record<string, string>) =>
  print(['bash', '-euo', 'pipefail', '-c', text], env);

/** Each statement in a transaction of its own, as a reader types them. */
async function inPsql(text: string, url: string): Promise<string> {
  const argv = ['psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-f', '-', url];
  const { code, out, err } = await execute(argv, { input: text, env: { PGTZ: 'UTC' } });
  if (code !== 0) throw new Error(`${text}\n${out}${err}`);
  return out;
}

async function script(text: string, env: Record<string, string>): Promise<string> {
  const file = join(folder, 'script.mjs');
  const { code } = await clientBundle(
    text.replaceAll("from 'pg'", `from '${import.meta.resolve('pg')}'`),
  );
  writeFileSync(file, code);
  return print([process.execPath, file], env);
}

test.each(pages)('the code of %s runs, and prints what the page says', async (page) => {
  const blocks = read(page);
  const db = await freshDatabase();
  const server = await serveApp(db, { TOCK_PUSH_SECRET: 's'.repeat(32) });
  const client = await db.connect();
  const { rows } = await client.query(
    "select key from tock.create_key(p_name => 'docs', p_scopes => '{enqueue,claim,read,admin}')",
  );
  const env = {
    PATH: `${folder}:${process.env.PATH}`,
    TOCK_URL: server.url,
    TOCK_KEY: rows[0].key,
    DATABASE_URL: db.url,
  };
  const run = async ({ language, text, output }: Block) => {
    const expectPrinted = (printed: string) => {
      if (output !== null) expect(masked(printed)).toBe(masked(output));
    };
    if (language === 'sql' && ofPeers.test(text)) return;
    if (language === 'sql') {
      if (psql) expectPrinted(await inPsql(text, db.url));
      else if (!text.includes('\\')) await client.query(text);
    } else if (language === 'ts' && !elsewhere.test(text)) {
      expectPrinted(await script(text, env));
    } else if (lacking === null && language === 'sh') {
      expectPrinted(await bash(text, env));
    } else if (lacking === null && language === 'console') {
      for (const { command, output: shown } of commandsOf(text)) {
        expect(masked(await bash(command, env)), command).toBe(masked(shown));
      }
    }
  };
  try {
    for (const block of blocks) {
      await run(block).catch((error) => {
        error.message = `${page}:${block.line}: ${error.message}`;
        throw error;
      });
    }
  } finally {
    server.close();
    await db.drop();
  }
});

test('the TypeScript of the pages has no type errors', () => {
  const source = mkdtempSync(join(checkout, 'test', 'docs', 'typed-'));
  try {
    const scripts = pages.flatMap((page) =>
      read(page)
        .filter(({ language }) => language === 'ts')
        .map((block) => ({ ...block, name: `${page.replaceAll(/[/.]/g, '_')}_${block.line}.ts` })),
    );
    expect(scripts.length).toBeGreaterThan(10);
    for (const { name, text } of scripts) writeFileSync(join(source, name), text);
    const config = {
      extends: join(checkout, 'tsconfig.json'),
      include: ['*.ts'],
      exclude: [],
    };
    writeFileSync(join(source, 'tsconfig.json'), JSON.stringify(config));
    const tsc = join(checkout, 'node_modules', '.bin', 'tsc');
    try {
      execFileSync(tsc, ['-p', source], { cwd: checkout, encoding: 'utf8' });
    } catch (error) {
      throw new Error((error as { stdout: string }).stdout);
    }
  } finally {
    rmSync(source, { recursive: true });
  }
});
