import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createApp } from '../../functions/app.ts';
import { connect } from '../../functions/query.ts';
import { type Database, freshDatabase } from '../database.ts';
import { tock } from './tock.ts';

let db: Database;
let server: Server;
let key: string;
const calls: string[] = [];
let refuseNext = 0;

/** The real app on a Node server. */
async function serve(): Promise<Server> {
  const app = createApp(connect);
  const made = createServer(async (incoming, outgoing) => {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk);
    calls.push(`${incoming.method} ${incoming.url}`);
    if (refuseNext-- > 0) return outgoing.writeHead(503).end();
    const request = new Request(`http://tock${incoming.url}`, {
      method: incoming.method ?? 'GET',
      headers: incoming.headers as Record<string, string>,
      ...(chunks.length > 0 && { body: Buffer.concat(chunks) }),
    });
    const response = await app.fetch(request, { DATABASE_URL: db.edgeUrl });
    outgoing.writeHead(response.status, Object.fromEntries(response.headers));
    outgoing.end(Buffer.from(await response.arrayBuffer()));
  });
  return new Promise((resolve) => made.listen(0, '127.0.0.1', () => resolve(made)));
}

const cli = (args: string[], more: { input?: string; env?: NodeJS.ProcessEnv } = {}) => {
  const TOCK_URL = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return tock(args, { ...more, env: { TOCK_URL, TOCK_KEY: key, ...more.env } });
};

beforeAll(async () => {
  db = await freshDatabase();
  server = await serve();
  const args = ['key', 'create', 'all', '--scope', 'enqueue,read', '--json'];
  key = JSON.parse((await tock(args, { env: { DATABASE_URL: db.url } })).out).key;
});
afterAll(async () => {
  server.close();
  await db.drop();
});

test('enqueue, task and status go over HTTP when there are TOCK_URL and TOCK_KEY', async () => {
  calls.length = 0;
  const id = (await cli(['enqueue', 'mail', '{"to":"a"}', '--priority', '1'])).out.trim();
  const task = await cli(['task', id, '--json']);
  expect(JSON.parse(task.out)).toMatchObject({
    id,
    priority: 1,
    payload: { to: 'a' },
    state: 'ready',
  });
  const status = await cli(['status']);
  expect(status.out).toMatch(/\nmail +1 +0 +0 +0 +\d+ s\n\nDuties and epochs need DATABASE_URL/);
  expect(calls).toEqual(['POST /v1/queues/mail/tasks', `GET /v1/tasks/${id}`, 'GET /v1/queues']);
});

test('a status that has a database too also shows duties', async () => {
  const { out } = await cli(['status', '--json'], { env: { DATABASE_URL: db.url } });
  expect(JSON.parse(out).duties.length).toBeGreaterThan(3);
});

test('many lines go in batches, and a 503 is tried again without doubling', async () => {
  refuseNext = 1;
  calls.length = 0;
  const input = Array.from({ length: 1500 }, (_, n) => JSON.stringify({ n })).join('\n');
  const { code, out } = await cli(['enqueue', 'bulk', '--many'], { input });
  expect(code).toBe(0);
  expect(new Set(out.trim().split('\n')).size).toBe(1500);
  expect(calls).toHaveLength(3);
  const status = JSON.parse((await cli(['status', '--json'])).out);
  expect(status.queues).toContainEqual(expect.objectContaining({ name: 'bulk', ready: 1500 }));
});

test('a refusal is told in one piece, with what to do', async () => {
  const bad = await cli(['enqueue', 'mail', '1', '--priority', '12']);
  expect(bad).toMatchObject({ code: 2, out: '' });
  expect(bad.err).toMatch(/^tasks\[0\]\.priority: a whole number from 0 to 9\n/);
  const unknown = await cli(['task', '5242880']);
  expect(unknown).toMatchObject({ code: 3, out: '' });
  const stranger = await cli(['task', '5242880', '--key', 'tock_nobody']);
  expect(stranger).toMatchObject({ code: 1, out: '' });
  expect(stranger.err).toMatch(/tock key create/);
  for (const { err } of [bad, unknown, stranger]) expect(err).not.toMatch(/\n +at /);
});
