import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { bundle } from '../../scripts/bundle.ts';
import { checkout } from '../../scripts/stack/paths.ts';
import { type Database, freshDatabase } from '../database.ts';
import { value } from '../sql/verbs.ts';
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

async function serve(code: string, texts: Record<string, string>): Promise<string> {
  const worker = await serveBundle(code, texts);
  served.push(worker);
  return worker.url;
}

test("the client's bundle has only its own files, and is as small as the guide says", async () => {
  const made = await clientBundle("export { createTock } from 'tock/client';");
  process.stdout.write(`The client: ${made.bytes} bytes, ${made.compressed} compressed.\n`);
  const parts = ['testing', 'sql'].map((name) =>
    clientBundle(`export * from 'tock/client/${name}';`),
  );
  for (const { imports, inputs } of [made, ...(await Promise.all(parts))]) {
    expect(imports).toEqual([]);
    for (const input of inputs) expect(input).toMatch(/^(client\/|<stdin>$)/);
  }
  expect(made.code).not.toMatch(/\b(process|Buffer|require|global|node:\w+)\b/);
  const [, expected = '0'] =
    /(\d+) kB compressed, no dependency/.exec(
      readFileSync(join(checkout, 'docs/guides/workers.md'), 'utf8'),
    ) ?? [];
  expect(Math.ceil(made.compressed / 1000)).toBe(Number(expected));
});

const consumer = `
import { createTock } from 'tock/client';
export default {
  async fetch(request, { URL, KEY }) {
    if (!request.url.endsWith('/work')) return new Response('up');
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
  const KEY = await value<string>(
    owner,
    "select key from tock.create_key('k', '{enqueue,claim,read}')",
  );
  const { code } = await bundle();
  const DATABASE_URL = database.poolUrl ?? database.edgeUrl;
  const URL = await serve(code, { DATABASE_URL });
  const url = await serve((await clientBundle(consumer)).code, { URL, KEY });
  const answer = await (await fetch(`${url}/work`)).json();
  expect(answer).toMatchObject({ worked: { done: 3 }, results: [2, 4, 6] });
});
