import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { request } from 'node:http';
import { connect, type Socket } from 'node:net';
import type pg from 'pg';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { createTock, type Tock } from '../../client/index.ts';
import { type Database, freshDatabase } from '../database.ts';
import { value } from '../sql/verbs.ts';
import { conditionTimeout } from '../timeout.ts';
import { copyExample, type Process, startProcess } from './copy.ts';

let db: Database;
let folder: string;
let server: Process;
let tock: Tock;
let url: string;
let key: string;
let owner: pg.Client;

beforeAll(async () => {
  db = await freshDatabase();
  folder = await copyExample('node-server');
  owner = await db.connect();
  key = await value(owner, "select key from tock.create_key('k', '{enqueue,claim,read,admin}')");
  const settings = { DATABASE_URL: db.poolUrl ?? db.edgeUrl, PORT: '0' };
  server = startProcess([process.execPath, 'server.mjs'], folder, settings);
  const listening = /listens on (\S+)/;
  await vi.waitUntil(() => listening.test(server.out()) || server.err(), {
    timeout: conditionTimeout,
  });
  url = listening.exec(server.out())?.[1] ?? server.err();
  tock = createTock({ url, key, retries: 0 });
});
afterAll(async () => {
  server.child.kill('SIGKILL');
  rmSync(folder, { recursive: true });
  await db.drop();
});

const headers = () => ({ authorization: `Bearer ${key}`, 'content-type': 'application/json' });
const post = (path: string, body: string) =>
  fetch(`${url}${path}`, { method: 'POST', headers: headers(), body });

/** Sends a request over a new connection. fetch() could reuse an idle one that the server is just closing. */
function statusOfNew(path: string, body: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const options = { method: 'POST', headers: headers(), agent: false } as const;
    request(`${url}${path}`, options, (answer) => resolve(answer.resume().statusCode))
      .on('error', reject)
      .end(body);
  });
}

test('a task is enqueued, claimed and completed through plain Node', async () => {
  const id = await tock.enqueue('mail', { to: 'ann' });
  const lease = await tock.claim('mail', { worker: 'w', wait_seconds: 5 });
  expect(lease?.tasks.map((task) => [task.id, task.payload])).toEqual([[id, { to: 'ann' }]]);
  await lease?.complete([{ id, result: 'sent' }]);
  expect(await tock.task(id)).toMatchObject({ state: 'done', result: 'sent' });
});

test("the server's timer promotes due tasks without claims", async () => {
  // A tick runs a maintenance job only every few seconds. This statement makes promotion due at once.
  const timely = "update tock.maintenance_jobs set last_started_at = null where name = 'promote'";
  // The second task is due after the alarm of the start, and after the alarm that its own enqueue sets.
  for (const soon of [100, 1100]) {
    const run_at = new Date(Date.now() + soon).toISOString();
    const id = await tock.enqueue('later', null, { run_at });
    await vi.waitUntil(
      async () => (await owner.query(timely)) && (await tock.task(id))?.state === 'ready',
      { timeout: conditionTimeout, interval: 50 },
    );
  }
});

test('bodies arrive unchanged, and too large ones are refused', async () => {
  const send = (body: string) => post('/v1/queues/q/tasks', body);
  expect((await send(JSON.stringify({ payload: '😀'.repeat(9000) }))).status).toBe(201);
  expect((await send('x'.repeat(6 * 1024 * 1024))).status).toBe(413);
  expect((await post('/v1/nothing', '{}')).status).toBe(404);
});

/** Sends a request whose body has a chunk of this size and no end. `answer` resolves with the answer. */
function begin(bytes: number): { socket: Socket; answer: Promise<string> } {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  const answer = new Promise<string>((resolve) => {
    socket.on('data', (some) => resolve(some.toString('latin1')));
    socket.on('error', ({ message }) => resolve(message));
    socket.on('close', () => resolve('closed'));
  });
  const head = `POST /v1/queues/q/tasks HTTP/1.1\r\nHost: t\r\nAuthorization: Bearer ${key}`;
  socket.write(`${head}\r\nTransfer-Encoding: chunked\r\n\r\n${bytes.toString(16)}\r\n`);
  socket.write(Buffer.alloc(bytes, ' '));
  return { socket, answer };
}

test('bodies that are refused or abandoned end only their connections', async () => {
  for (let round = 0; round < 3; round++) {
    const all = Array.from({ length: 130 }, () => begin(512 * 1024));
    let answered = 0;
    for (const { answer } of all) void answer.then(() => answered++);
    // The server refuses the bodies for which it has no room. The others still wait for the rest of their bodies.
    await vi.waitUntil(() => answered >= 70, { timeout: conditionTimeout });
    for (const { socket } of all) socket.resetAndDestroy();
    await Promise.all(all.map(({ answer }) => answer));
    expect(server.err()).toBe('');
    expect(await statusOfNew('/v1/queues/q/tasks', '{}')).toBe(201);
  }
});

test('a body that is refused before its end is the last on its connection', async () => {
  // If a connection is closed while a client sends, the client may not see the answer, so the test repeats the call.
  const refused = () => begin(6 * 1024 * 1024).answer;
  await expect.poll(refused).toMatch(/^HTTP\/1\.1 413 .*\r\nconnection: close\r\n/is);
});

test('without a database URL, or with a port in use, the server reports it and ends', async () => {
  const { port: PORT } = new URL(url);
  for (const [env, code, listening] of [
    [{ PORT: '0' }, 2, /^Set DATABASE_URL.*\n$/],
    [{ DATABASE_URL: db.edgeUrl, PORT }, 1, /^listen EADDRINUSE.*PORT.*\n$/],
  ] as const) {
    const { ended } = startProcess([process.execPath, 'server.mjs'], folder, env);
    expect(await ended).toMatchObject({ code, err: expect.stringMatching(listening) });
  }
});

test('on SIGTERM the server answers open requests and ends with 0, despite open connections', async () => {
  const idle = connect(Number(new URL(url).port), '127.0.0.1').on('error', () => {});
  await once(idle, 'connect');
  const admin = await db.connect(db.superUrl);
  const since = await value(admin, 'select clock_timestamp()');
  const waiting = post('/v1/queues/late/claim', '{"worker": "w", "wait_seconds": 30}');
  const looks = `select from pg_stat_activity where datname = current_database()
    and usename = 'tock_edge' and query ~ 'tock.http_claim' and query_start > $1`;
  await vi.waitUntil(async () => (await admin.query(looks, [since])).rowCount, conditionTimeout);
  server.child.kill('SIGTERM');
  const isRefused = () =>
    fetch(url).then(
      () => false,
      () => true,
    );
  await vi.waitUntil(isRefused, conditionTimeout);
  await owner.query(`select tock.enqueue(p_queue => 'late', p_tasks => '[{"payload": 1}]')`);
  const answer = await waiting;
  expect(await answer.json()).toMatchObject({ tasks: [{ payload: 1 }] });
  // Without this header, a client that reuses its connection would keep the process alive.
  expect(answer.headers.get('connection')).toBe('close');
  // The server does not wait for idle connections, which would take minutes.
  expect(await server.ended).toMatchObject({ code: 0, err: '' });
});
