import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTock } from '../../client/index.ts';
import { type Reply, type Service, service } from './service.ts';

let tock: Service;
beforeAll(async () => {
  tock = await service();
});
afterAll(() => tock.database.drop());

const make = async (options: object): Promise<{ key: string; prefix: string }> =>
  (await tock.send('POST /v1/keys', { body: { name: 'k', scopes: ['read'], ...options } })).body;
const look = (key: string): Promise<Reply> => tock.send('GET /v1/queues/q', { key });
const listed = async (prefix: string) =>
  (await tock.send('GET /v1/keys')).body.keys.find(
    (key: { prefix: string }) => key.prefix === prefix,
  );

test('a key is created with all its limits, and listed with them', async () => {
  const { key, prefix } = await make({
    scopes: ['read', 'enqueue'],
    queues: ['q'],
    tenants: ['acme'],
    expires_in_seconds: 3600,
    rate_limit: 5,
    rate_seconds: 60,
  });
  const listedKey = await listed(prefix);
  expect(listedKey).toMatchObject({
    queues: ['q'],
    tenants: ['acme'],
    rate_limit: 5,
    rate_seconds: 60,
    expires_at: expect.any(String),
    last_used_at: null,
    uses: 0,
    replaces: null,
  });
  expect(JSON.stringify(listedKey)).not.toContain(key.slice(14));
});

test.each([
  [{ tenants: ['acme'], scopes: ['claim'] }, 'scopes'],
  [{ tenants: [] }, 'tenants'],
  [{ rate_limit: 0 }, 'rate_limit'],
  [{ rate_seconds: 5 }, 'rate_limit'],
  [{ expires_in_seconds: 0 }, 'expires_in_seconds'],
  [{ expires_at: '2001-01-01T00:00:00Z' }, 'expires_at'],
  [{ expires_at: 'soon' }, 'expires_at'],
])('a key with %j is refused', async (options, field) => {
  const refused = await tock.send('POST /v1/keys', {
    body: { name: 'k', scopes: ['read'], ...options },
  });
  expect(refused).toMatchObject({ status: 422, body: { field } });
});

test('a key that is revoked between two requests on one connection is refused in the second', async () => {
  const { key, prefix } = await make({});
  const server = createServer(async (request, response) => {
    const [method = 'GET', path = '/'] = [request.method, request.url];
    const reply = await tock.send(`${method} ${path}`, {
      key: request.headers.authorization?.slice(7) ?? null,
    });
    response.writeHead(reply.status).end(reply.text);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const get = async () => {
    const headers = { authorization: `Bearer ${key}` };
    const reply = await fetch(`http://127.0.0.1:${port}/v1/queues/q`, { headers });
    await reply.text();
    return reply.status;
  };
  expect([await get(), await get()]).toEqual([404, 404]);
  await tock.send(`DELETE /v1/keys/${prefix}`);
  expect([await get(), await get()]).toEqual([401, 401]);
  server.close();
  server.closeAllConnections();
});

test('a key that has expired is refused with 401, which says when it did', async () => {
  const { key, prefix } = await make({ expires_in_seconds: 3600 });
  expect((await look(key)).status).toBe(404);
  await tock.owner.query('update tock.keys set expires_at = now() where prefix = $1', [prefix]);
  const refused = await look(key);
  expect(refused).toMatchObject({
    status: 401,
    body: { detail: expect.stringMatching(/^this key expired at 20/), hint: expect.any(String) },
  });
  expect(refused.headers.get('www-authenticate')).toBe('Bearer');
});

test('a key is rotated once, and both work while they overlap', async () => {
  const { key, prefix } = await make({});
  const route = `POST /v1/keys/${prefix}/rotate`;
  const rotated = await tock.send(route, { body: { overlap_seconds: 60 } });
  expect(rotated).toMatchObject({ status: 201, body: { name: 'k', replaces: prefix } });
  expect([(await look(key)).status, (await look(rotated.body.key)).status]).toEqual([404, 404]);
  expect(await listed(prefix)).toMatchObject({ replaced_by: rotated.body.prefix });
  const again = await tock.send(route, { body: {} });
  expect(again).toMatchObject({
    status: 409,
    body: { hint: expect.stringContaining('rotate again') },
  });
  const none = await tock.send('POST /v1/keys/tock_00000000/rotate', { body: {} });
  expect(none.status).toBe(404);
});

test("a key's name, expiry and rate are changed, and nothing else", async () => {
  const { prefix } = await make({ expires_in_seconds: 60 });
  const change = (body: object) => tock.send(`PATCH /v1/keys/${prefix}`, { body });
  expect((await change({ name: 'n', expires_at: null, rate_limit: 9 })).body).toMatchObject({
    name: 'n',
    expires_at: null,
    rate_limit: 9,
    rate_seconds: 1,
  });
  expect((await change({ scopes: ['admin'] })).status).toBe(422);
  expect((await change({})).status).toBe(422);
  const none = await tock.send('PATCH /v1/keys/tock_00000000', { body: { name: 'n' } });
  expect(none.status).toBe(404);
});

test('over its rate a key gets a 429 with Retry-After and its limit', async () => {
  const { key } = await make({ rate_limit: 2, rate_seconds: 86_400 });
  expect([(await look(key)).status, (await look(key)).status]).toEqual([404, 404]);
  const refused = await look(key);
  expect(refused).toMatchObject({
    status: 429,
    body: {
      type: '/errors/TK429',
      detail: 'this key has used up its rate of 2 requests in 86400 seconds',
    },
  });
  const after = Number(refused.headers.get('retry-after'));
  expect(after).toBeGreaterThan(0);
  expect(refused.body.hint).toBe(`Try again in ${after} seconds`);
});

test('a waiting claim counts as one request, however often it polls', async () => {
  const { key, prefix } = await make({ scopes: ['claim'], rate_limit: 2, rate_seconds: 86_400 });
  const sent = tock.statements.length;
  const claiming = tock.send('POST /v1/queues/none/claim', { key, body: { wait_seconds: 30 } });
  await expect.poll(() => tock.statements.length - sent).toBeGreaterThan(2);
  await tock.owner.query(`select tock.enqueue('none', '[{}]')`);
  expect(await claiming).toMatchObject({ status: 200, body: { state: 'found' } });
  const { rows } = await tock.owner.query(
    `select (last_value & 1048575)::int as count from tock.rate_${prefix.slice(5)}`,
  );
  expect(rows).toEqual([{ count: 1 }]);
});

test('the client repeats a call over the rate after Retry-After', async () => {
  const { key, prefix } = await make({
    scopes: ['enqueue', 'read'],
    rate_limit: 1,
    rate_seconds: 86_400,
  });
  const statuses: number[] = [];
  const client = createTock({
    url: 'http://tock.test',
    key,
    fetch: async (url, init) => {
      const { pathname } = new URL(url);
      const reply = await tock.send(`${init.method} ${pathname}`, { key, raw: String(init.body) });
      statuses.push(reply.status);
      // A higher limit lets the next call through, as the next period of the rate would.
      await tock.owner.query('select tock.update_key($1, $2)', [prefix, '{"rate_limit": 2}']);
      const headers = new Headers(reply.headers);
      if (reply.status === 429) headers.set('retry-after', '1');
      return new Response(reply.text, { status: reply.status, headers });
    },
  });
  await look(key);
  await client.enqueue('client', { n: 1 });
  expect(statuses).toEqual([429, 201]);
});

test('the audit log is listed with the key of each call, page by page', async () => {
  const admin = await make({ name: 'boss', scopes: ['admin'] });
  await tock.send('PUT /v1/queues/acted', { key: admin.key, body: { max_attempts: 2 } });
  await tock.send('POST /v1/queues/acted/purge', { key: admin.key, body: {} });
  const { body } = await tock.send(`GET /v1/audit-log?key=${admin.prefix}&limit=1`);
  expect(body.entries).toMatchObject([
    { verb: 'purge_queue', object: 'acted', key: admin.prefix, key_name: 'boss' },
  ]);
  const [{ number }] = body.entries;
  const rest = await tock.send(`GET /v1/audit-log?key=${admin.prefix}&before=${number}`);
  expect(rest.body.entries).toMatchObject([{ verb: 'put_queue', detail: { max_attempts: 2 } }]);
  expect(
    (await tock.send('GET /v1/audit-log?object=acted&verb=put_queue')).body.entries,
  ).toHaveLength(1);
  expect((await tock.send('GET /v1/audit-log', { key: (await make({})).key })).status).toBe(403);
});
