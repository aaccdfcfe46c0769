import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Connect } from '../../functions/database/types.ts';
import type { Bindings } from '../../functions/env.ts';
import { createApp } from '../../functions/http/app.ts';
import { createWorker } from '../../functions/worker.ts';
import { checkout } from '../../scripts/stack/paths.ts';
import { type Database, freshDatabase } from '../database.ts';
import { dropMembers, type Member, makeMembers } from '../sql/roles.ts';

let db: Database;
let members: Member[];
/** The statements that an app with keys sends. */
const statements: string[] = [];

beforeAll(async () => {
  db = await freshDatabase();
  members = await makeMembers(db);
});
afterAll(async () => {
  await db.drop();
  await dropMembers(db.superUrl, members);
});

const through =
  (client: pg.Client): Connect =>
  (_env, use) =>
    use(async (text, values) => {
      statements.push(text);
      return (await client.query(text, values)).rows;
    });

/** An app with the rights of the role of its connection. */
function appOf(role: string) {
  const { client } = members.find((member) => member.role === role) as Member;
  const app = createApp(through(client), { rights: 'database role' });
  return async (route: string, body?: object) => {
    const [method = '', path = ''] = route.split(' ');
    const answer = await app.request(path, {
      method,
      headers: { 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    });
    // biome-ignore lint/suspicious/noExplicitAny: any route's answer
    return { status: answer.status, body: (await answer.json()) as any };
  };
}

test('an app with the rights of the database role needs no key', async () => {
  const [producer, worker, admin] = ['tock_producer', 'tock_worker', 'tock_admin'].map(appOf);
  if (!producer || !worker || !admin) throw new Error('There are three.');
  const from = statements.length;
  const tasks = [{ tenant: 'a' }, {}];
  const enqueued = await producer('POST /v1/queues/q/tasks', { tasks });
  expect(enqueued).toMatchObject({
    status: 201,
    body: { ids: tasks.map(() => expect.any(String)) },
  });
  const [id, other] = enqueued.body.ids;
  expect((await producer(`GET /v1/tasks/${id}`)).body).toMatchObject({ id, state: 'ready' });
  const child = (await producer('POST /v1/queues/q/tasks', { depends_on: [id] })).body.ids[0];
  expect((await producer(`GET /v1/tasks/${child}/parents`)).body.parents).toMatchObject([{ id }]);
  expect((await producer('GET /v1/tasks?queue=q&tenant=a')).body.tasks).toMatchObject([{ id }]);
  expect((await producer('POST /v1/tasks/cancel', { ids: [other] })).body.tasks).toHaveLength(1);
  const { lease } = (await worker('POST /v1/queues/q/claim', {})).body;
  expect((await worker(`POST /v1/leases/${lease}/complete`, {})).body.completed).toBe(1);
  const again = { ids: [id], request_id: 'r' };
  expect((await producer('POST /v1/tasks/rerun', again)).body.tasks).toMatchObject([{ id }]);
  expect((await admin('PUT /v1/queues/q', { paused: true })).body).toMatchObject({ paused: true });
  expect((await admin('GET /v1/doctor')).status).toBe(200);
  expect(statements.slice(from).join()).not.toMatch(/authorize\(|http_(enqueue|complete|task)\(/);
});

test('the database refuses what its role may not do, and a key in the request does not help', async () => {
  for (const [role, route] of [
    ['tock_worker', 'POST /v1/queues/q/tasks'],
    ['tock_producer', 'POST /v1/queues/q/claim'],
    ['tock_producer', 'POST /v1/keys'],
    ['tock_worker', 'POST /v1/queues/q/purge'],
    ['outsider', 'GET /v1/queues'],
    ['tock_edge', 'GET /v1/key'],
  ] as const) {
    const body = { name: 'k', scopes: ['read'] };
    const sent = route.startsWith('GET') ? undefined : /keys$/.test(route) ? body : {};
    expect((await appOf(role)(route, sent)).status, route).not.toBeLessThan(400);
  }
});

test('no header and no binding makes a server act without a key', async () => {
  const names = ['rights', 'authorize', 'authorization', 'TOCK_RIGHTS', 'TOCK_AUTHORIZE'];
  const headersToTry = ['database role', 'Bearer database role', 'role'];
  const client = await db.connect();
  const apps = [createApp(through(client)), createWorker({ connect: through(client) })];
  const routes = ['GET /v1/queues', 'POST /v1/queues/q/tasks', 'POST /v1/queues/q/claim'];
  const from = statements.length;
  for (const app of apps) {
    for (const route of routes) {
      for (const value of headersToTry) {
        const [method = '', path = ''] = route.split(' ');
        const env = Object.fromEntries(names.map((name) => [name, value])) as Bindings;
        const headers = names.flatMap((name): [string, string][] => [
          [name.replace('_', '-'), value],
          [`x-${name.replace('_', '-')}`, value],
        ]);
        const body = method === 'POST' ? JSON.stringify({ rights: value }) : null;
        const request = new Request(`http://tock${path}?rights=${value}`, {
          method,
          headers,
          body,
        });
        expect((await app.fetch(request, env)).status, route).toBe(401);
      }
    }
  }
  expect(statements.slice(from)).toEqual([]);
});

test('no network server uses the rights of the database role', () => {
  const named = ['functions', 'examples', 'scripts'].flatMap((folder) =>
    readdirSync(join(checkout, folder), { recursive: true })
      .map((file) => `${folder}/${file}`)
      .filter((file) => /\.(ts|mjs|js)$/.test(file) && !file.includes('node_modules'))
      .filter((file) => /database role/.test(readFileSync(join(checkout, file), 'utf8'))),
  );
  // Only these two files may name it: one defines the statements without a key, the other has the app's option.
  expect(named.filter((file) => !/\/(authorize|app)\.ts$/.test(file))).toEqual([]);
});
