import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { checkout } from '../../scripts/stack/paths.ts';
import { run } from '../../scripts/stack/run.ts';
import { freshDatabase } from '../database.ts';
import { value } from '../sql/verbs.ts';
import { serveBundle } from '../worker/workerd.ts';

const folder = mkdtempSync(join(tmpdir(), 'tock-consumer-'));
const page = readFileSync(join(checkout, 'docs/guides/consumers.md'), 'utf8');
afterAll(() => rmSync(folder, { recursive: true }));

/** The guide's code block in this language that contains the word. */
function block(language: string, word: string): string {
  for (const [, text = ''] of page.matchAll(
    new RegExp(`\`\`\`${language}\n([\\s\\S]*?)\`\`\``, 'g'),
  ))
    if (text.includes(word)) return text;
  throw new Error(`The guide has no ${language} with ${word}.`);
}

test("wrangler.toml has the guide's lines for the alarm as comments", () => {
  const lines = block('toml', 'ALARM').split('\n').filter(Boolean);
  const own = readFileSync(join(checkout, 'wrangler.toml'), 'utf8');
  expect(own).toContain(lines.map((line) => `# ${line}\n`).join(''));
});

/** Creates the folder that the guide describes, with this checkout in place of the package, and bundles it. */
async function bundled(): Promise<string> {
  mkdirSync(join(folder, 'src'));
  writeFileSync(join(folder, 'src', 'index.ts'), block('ts', 'tock/worker'));
  const toml = block('toml', 'main =').replace('https://relay.example/send', 'from the test');
  writeFileSync(join(folder, 'wrangler.toml'), toml + block('toml', 'ALARM'));
  symlinkSync(join(checkout, 'node_modules'), join(folder, 'node_modules'));
  const wrangler = join(checkout, 'node_modules', '.bin', 'wrangler');
  const alias = `tock/worker:${join(checkout, 'functions/worker.ts')}`;
  const argv = ['deploy', '--dry-run', '--outdir', join(folder, 'out'), '--alias', alias];
  await run([process.execPath, wrangler, ...argv], {
    cwd: folder,
    env: { ...process.env, WRANGLER_SEND_METRICS: 'false', XDG_CONFIG_HOME: folder },
  });
  return readFileSync(join(folder, 'out', 'index.js'), 'utf8');
}

test("the guide's consumer runs with only the files that the guide shows", async () => {
  const sent: unknown[] = [];
  const relay = createServer(async (request, response) => {
    let body = '';
    for await (const part of request) body += part;
    sent.push(JSON.parse(body));
    response.end();
  });
  await new Promise<void>((resolve) => relay.listen(0, '127.0.0.1', resolve));
  const MAIL_URL = `http://127.0.0.1:${(relay.address() as AddressInfo).port}/`;
  const db = await freshDatabase();
  const owner = await db.connect();
  const key = await value(owner, "select key from tock.create_key('k', '{enqueue,read}')");
  const bindings = { DATABASE_URL: db.poolUrl ?? db.edgeUrl, MAIL_URL };
  const storage = join(folder, 'alarm');
  mkdirSync(storage);
  const served = await serveBundle(await bundled(), bindings, storage);
  try {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const call = async (method: string, path: string, body?: unknown) => {
      const init = { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) };
      return (await fetch(served.url + path, init)).json();
    };
    const payloads = [
      { to: 'ann@a.example', subject: 'Hello' },
      { to: 'nobody', subject: 'Hello' },
    ];
    const tasks = payloads.map((payload) => ({ payload }));
    const { ids } = await call('POST', '/v1/queues/mail/tasks', { tasks });
    const ended = (id: string) => call('GET', `/v1/tasks/${id}?wait_seconds=30`);
    expect(await ended(ids[0])).toMatchObject({ state: 'done', result: { status: 200 } });
    const error = { message: expect.stringMatching(/^payload\.to: /) };
    expect(await ended(ids[1])).toMatchObject({ state: 'dead', error });
    expect(sent).toEqual([{ ...payloads[0], key: ids[0] }]);
  } finally {
    await served.stop();
    relay.close();
    await db.drop();
  }
});
