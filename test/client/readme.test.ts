import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { checkout } from '../../scripts/stack/place.ts';
import { type Served, served } from '../cli/served.ts';
import { type Database, freshDatabase } from '../database.ts';
import { clientBundle } from './bundle.ts';

const folder = mkdtempSync(join(tmpdir(), 'tock-readme-'));
let db: Database;
let server: Served;
let key: string;

beforeAll(async () => {
  db = await freshDatabase();
  server = await served(db);
  const owner = await db.connect();
  const made =
    "select key from tock.create_key(p_name => 'k', p_scopes => array['enqueue', 'claim'])";
  key = (await owner.query(made)).rows[0].key;
});
afterAll(async () => {
  server.close();
  rmSync(folder, { recursive: true });
  await db.drop();
});

/** The page's script that imports this. */
function script(entry: string): string {
  const page = readFileSync(join(checkout, 'README.md'), 'utf8');
  const all = [...page.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, text = '']) => text);
  const found = all.find((text) => text.includes(`'${entry}'`));
  if (!found) throw new Error(`The README has no script with ${entry}.`);
  return found.replace("'pg'", `'${import.meta.resolve('pg')}'`);
}

type Running = { child: ChildProcess; out(): string; ended: Promise<number | null> };

/** As a process of its own, by Node. */
async function start(entry: string): Promise<Running> {
  const file = join(folder, `${entry.replaceAll('/', '-')}.mjs`);
  writeFileSync(file, (await clientBundle(script(entry))).code);
  const env = { ...process.env, TOCK_URL: server.url, TOCK_KEY: key, DATABASE_URL: db.url };
  const child = spawn(process.execPath, [file], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  let out = '';
  child.stdout?.setEncoding('utf8').on('data', (text) => {
    out += text;
  });
  return { child, out: () => out, ended: new Promise((end) => child.on('exit', end)) };
}

test("the README's worker does what it enqueues, later too, and ends on SIGTERM", async () => {
  const { child, out, ended } = await start('tock/client/node');
  await vi.waitUntil(() => out().includes('to bob@b.example: Later\n'), { timeout: 20_000 });
  child.kill('SIGTERM');
  expect(await ended).toBe(0);
  expect(out()).toBe(
    'to ann@a.example: Hello\nto bob@b.example: Later\n{ done: 2, failed: 0, released: 0, cancelled: 0, lost: 0 }\n',
  );
});

test("the README's worker in transactions does each order once", async () => {
  const owner = await db.connect();
  const admin = await db.connect(db.superUrl);
  await admin.query('create table invoices (order_id integer); grant insert on invoices to tock');
  await owner.query(
    `select tock.enqueue('orders', '[{"payload": {"id": 7}}, {"payload": {"id": 8}}]')`,
  );
  const { out, ended } = await start('tock/client/sql');
  expect(await ended).toBe(0);
  expect(out()).toBe('2\n');
  const { rows } = await admin.query('select order_id from invoices order by 1');
  expect(rows).toEqual([{ order_id: 7 }, { order_id: 8 }]);
});

test("the README's unit test goes by its clock", async () => {
  const { out, ended } = await start('tock/client/testing');
  expect(await ended).toBe(0);
  expect(out()).toBe("[ 'ann' ]\n");
});
