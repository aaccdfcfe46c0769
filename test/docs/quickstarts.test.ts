import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { createTock, type Tock } from '../../client/index.ts';
import { secretsOf, signatureHeaders } from '../../functions/push/secret.ts';
import { checkout } from '../../scripts/stack/paths.ts';
import { type ServedApp, serveApp } from '../cli/served.ts';
import { tock as cli } from '../cli/tock.ts';
import { startScript } from '../client/scripts.ts';
import { type Database, freshDatabase } from '../database.ts';
import { blocksOf } from './blocks.ts';

// esbuild is a dependency of wrangler, so it is installed.
const esbuild: typeof import('esbuild') = createRequire(import.meta.url)('esbuild');

// The pages' handlers print their errors.
vi.spyOn(console, 'error').mockImplementation(() => {});

const folder = mkdtempSync(join(tmpdir(), 'tock-quickstarts-'));
const TOCK_PUSH_SECRET = 's'.repeat(32);
let db: Database;
let server: ServedApp;
let tock: Tock;
let env: { TOCK_URL: string; TOCK_KEY: string };

beforeAll(async () => {
  db = await freshDatabase();
  server = await serveApp(db, { TOCK_PUSH_SECRET });
  const owner = await db.connect();
  const made = `select key from tock.create_key(p_name => 'k', p_scopes => '{enqueue,claim,read,admin}')`;
  const { key } = (await owner.query(made)).rows[0];
  env = { TOCK_URL: server.url, TOCK_KEY: key };
  tock = createTock({ url: server.url, key });
  await cli(['queue', 'set', 'hello', 'max_attempts=5'], { env });
  const { out } = await cli(['push-secret', 'hello'], { env });
  // The pages' scripts run in this process and read their settings from it.
  Object.assign(process.env, env, { PUSH_SECRET: out.trim() });
});
afterAll(async () => {
  for (const name of [...Object.keys(env), 'PUSH_SECRET']) delete process.env[name];
  server.close();
  rmSync(folder, { recursive: true });
  await db.drop();
});

const page = (name: string) => readFileSync(join(checkout, 'docs/quickstarts', name), 'utf8');

/** The exports of the page's script that contains these words. */
async function load(name: string, words: string) {
  const block = blocksOf(page(name)).find(
    ({ language, text }) => language === 'ts' && text.includes(words),
  );
  if (!block) throw new Error(`${name} has no script with ${words}.`);
  const file = join(folder, `${name}-${block.line}.mjs`);
  const { outputFiles } = await esbuild.build({
    stdin: { contents: block.text, loader: 'ts', resolveDir: checkout },
    alias: { 'tock/client': './client/index.ts', 'tock/receiver': './client/receiver.ts' },
    absWorkingDir: checkout,
    bundle: true,
    format: 'esm',
    platform: 'node',
    write: false,
  });
  writeFileSync(file, outputFiles[0]?.text ?? '');
  return import(file);
}

/** The headers and the body of a push of this payload. */
async function pushOf(payload: unknown, id = '7') {
  const body = JSON.stringify(payload);
  const settings = { queue: 'hello', generation: 1, previous_until: null };
  const secrets = await secretsOf({ TOCK_PUSH_SECRET }, settings);
  return { method: 'POST', body, headers: await signatureHeaders(secrets, id, body) };
}

test('the worker of the page about Node does a task, and the command line shows its result', async () => {
  const { child, ended } = await startScript(
    'docs/quickstarts/node.md',
    'tock/client/node',
    folder,
    env,
  );
  const id = (await cli(['enqueue', 'hello', '{"name": "Ann"}'], { env })).out.trim();
  const { out } = await cli(['task', id, '--wait', '30'], { env });
  expect(out).toContain('{"text":"Hello Ann"}');
  child.kill('SIGTERM');
  expect(await ended).toBe(0);
});

test('the Lambda function of its page answers a push with the result', async () => {
  const { handler } = await load('aws-lambda.md', 'lambdaHandler');
  const event = async (payload: unknown) => {
    const { body, headers, method } = await pushOf(payload);
    return { body, headers, requestContext: { http: { method } } };
  };
  const answer = await handler(await event({ name: 'Ann' }));
  expect([answer.statusCode, JSON.parse(answer.body)]).toEqual([200, { text: 'Hello Ann' }]);
  expect(await handler(await event({ name: '' }))).toMatchObject({ statusCode: 489 });
  const unsigned = { ...(await event({ name: 'Ann' })), headers: {} };
  expect(await handler(unsigned)).toMatchObject({ statusCode: 401 });
});

test('the routes of the page about Next.js enqueue a task, do it and show its result', async () => {
  const send = await load('nextjs-vercel.md', 'export async function POST');
  const receiver = await load('nextjs-vercel.md', 'export const POST');
  const url = 'https://my-app.example/api';
  const body = JSON.stringify({ name: 'Ann' });
  const sent = send.POST(new Request(`${url}/send`, { method: 'POST', body }));
  // As the Worker does: the answer to the push is the task's result.
  const lease = await tock.claim('hello', { wait_seconds: 30 });
  const [task] = lease?.tasks ?? [];
  const push = await pushOf(task?.payload, task?.id);
  const response: Response = await receiver.POST(new Request(`${url}/hello`, push));
  const result = { status: response.status, body: await response.json() };
  await lease?.complete([{ id: task?.id ?? '', result }]);
  const shown = /^(\{"id":.*)$/m.exec(page('nextjs-vercel.md'))?.[1] ?? '';
  expect(await (await sent).text()).toBe(shown.replace('2097153', task?.id ?? ''));
});

test('wrangler.toml has the lines of the page about Hyperdrive as comments', () => {
  const lines = readFileSync(join(checkout, 'wrangler.toml'), 'utf8').split('\n');
  const blocks = blocksOf(page('workers-hyperdrive.md')).filter(
    ({ language }) => language === 'toml',
  );
  expect(blocks).toHaveLength(2);
  for (const line of blocks.flatMap(({ text }) => text.trim().split('\n')))
    expect(lines.map((commented) => commented.replace(/^# /, ''))).toContain(line);
});

test('the project of `tock init` has the scripts that the pages about Workers run', () => {
  const template = readFileSync(join(checkout, 'cli/init/template/package.json'), 'utf8');
  const { scripts } = JSON.parse(template);
  for (const name of ['workers-neon.md', 'workers-hyperdrive.md']) {
    const run = [...page(name).matchAll(/^npm (?:run )?([a-z]+)/gm)].map(([, word]) => word);
    const used = run.filter((word) => word !== 'install');
    expect(used.length).toBeGreaterThan(4);
    expect(Object.keys(scripts)).toEqual(expect.arrayContaining(used));
  }
});
