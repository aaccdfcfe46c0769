import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { bundle } from '../../scripts/bundle.ts';
import { checkout } from '../../scripts/stack/paths.ts';
import { type Database, freshDatabase } from '../database.ts';
import { conditionTimeout } from '../timeout.ts';
import { type Served, serveBundle } from '../worker/workerd.ts';
import { clientBundle } from './bundle.ts';

let database: Database;
const served: Served[] = [];
beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(async () => {
  await Promise.all(served.map((worker) => worker.stop()));
  await database.drop();
});

async function serve(code: string, texts: Record<string, string>, path: string): Promise<string> {
  const worker = await serveBundle(code, texts);
  served.push(worker);
  await vi.waitFor(() => fetch(`${worker.url}${path}`), { timeout: conditionTimeout });
  return worker.url;
}

test("the client's bundle has only its own files, and is as small as the guide says", async () => {
  const made = await clientBundle("export { createTock } from 'tock/client';");
  process.stdout.write(`The client: ${made.bytes} bytes, ${made.compressed} compressed.\n`);
  expect(made.imports).toEqual([]);
  for (const input of made.inputs) expect(input).toMatch(/^(client\/|<stdin>$)/);
  expect(made.code).not.toMatch(/\b(process|Buffer|require|global|node:\w+)\b/);
  const [, expected = '0'] =
    /(\d+) kB compressed, no dependency/.exec(
      readFileSync(join(checkout, 'docs/guides/workers.md'), 'utf8'),
    ) ?? [];
  expect(Math.ceil(made.compressed / 1000)).toBe(Number(expected));
});

test.each(['tock/client/testing', 'tock/client/sql'])(
  'the bundle of %s has only its own files too',
  async (name) => {
    const { imports, inputs } = await clientBundle(`export * from '${name}';`);
    expect(imports).toEqual([]);
    for (const input of inputs) expect(input).toMatch(/^(client\/|<stdin>$)/);
  },
);

const consumer = `
import { createTock } from 'tock/client';
export default {
  async fetch(request, { URL, KEY }) {
    if (request.url.endsWith('/up')) return new Response('up');
    const tock = createTock({ url: URL, key: KEY });
    const ids = await tock.enqueueMany('edge', [1, 2, 3].map((payload) => ({ payload })));
    const double = (task) => task.payload * 2;
    const worked = await tock.work('edge', double, { until: 'empty', for_seconds: 20, concurrency: 3 });
    const tasks = await Promise.all(ids.map((id) => tock.task(id)));
    return Response.json({ worked, results: tasks.map((task) => task.result) });
  },
};`;

test('the client works in workerd, against a Tock in workerd', async () => {
  const owner = await database.connect();
  const { rows } = await owner.query(
    "select key from tock.create_key(p_name => 'k', p_scopes => array['enqueue', 'claim', 'read'])",
  );
  const { code } = await bundle();
  const DATABASE_URL = database.poolUrl ?? database.edgeUrl;
  const URL = await serve(code, { DATABASE_URL }, '/openapi.json');
  const texts = { URL, KEY: rows[0].key };
  const url = await serve((await clientBundle(consumer)).code, texts, '/up');
  const answer = await (await fetch(`${url}/work`)).json();
  expect(answer).toMatchObject({ worked: { done: 3 }, results: [2, 4, 6] });
});
