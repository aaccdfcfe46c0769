import { expect, test } from 'vitest';
import { fileService } from './file_service.ts';
import { startNodeServer } from './node_server.ts';

const tock = fileService();

const make = async (options: object): Promise<{ key: string; prefix: string }> =>
  (await tock.send('POST /v1/keys', { body: { name: 'k', scopes: ['read'], ...options } })).body;
const look = (key: string) => tock.send('GET /v1/queues/q', { key });
const listed = async (prefix: string) =>
  (await tock.send('GET /v1/keys')).body.keys.find(
    (key: { prefix: string }) => key.prefix === prefix,
  );

test('a key is created with all its limits, listed with them but without its secret, and revoked', async () => {
  const limits = { queues: ['q'], tenants: ['acme'], rate_limit: 5, rate_seconds: 60 };
  const scopes = ['read', 'enqueue', 'read'];
  const { key, prefix } = await make({ scopes, ...limits, expires_in_seconds: 3600 });
  const status = async () => (await tock.send('GET /v1/key', { key })).status;
  const listedKey = await listed(prefix);
  const unused = { last_used_at: null, uses: 0, replaces: null, revoked_at: null };
  const expires_at = expect.any(String);
  expect(listedKey).toMatchObject({
    scopes: ['read', 'enqueue'],
    ...limits,
    expires_at,
    ...unused,
  });
  expect(JSON.stringify(listedKey)).not.toContain(key.slice(14));
  expect(await status()).toBe(200);
  const revoked = await tock.send(`DELETE /v1/keys/${prefix}`);
  expect(revoked.body).toEqual({ prefix, revoked: true });
  expect(await status()).toBe(401);
  expect((await tock.send('DELETE /v1/keys/tock_00000000')).status).toBe(404);
});

test('a key that is revoked between two requests on one connection is refused in the second', async () => {
  const server = await startNodeServer();
  const key = await server.makeKey();
  const get = async () => {
    const reply = await server.send(key, 'GET /v1/queues/q');
    await reply.text();
    return reply.status;
  };
  expect([await get(), await get()]).toEqual([404, 404]);
  await server.owner.query('select tock.revoke_key($1)', [key.slice(0, 13)]);
  expect([await get(), await get()]).toEqual([401, 401]);
  await server.close();
});

test('a key is rotated once, and both work while they overlap', async () => {
  const { key, prefix } = await make({});
  const route = `POST /v1/keys/${prefix}/rotate`;
  const rotated = await tock.send(route, { body: { overlap_seconds: 60 } });
  expect(rotated).toMatchObject({ status: 201, body: { name: 'k', replaces: prefix } });
  expect([(await look(key)).status, (await look(rotated.body.key)).status]).toEqual([404, 404]);
  expect(await listed(prefix)).toMatchObject({ replaced_by: rotated.body.prefix });
  const again = await tock.send(route, { body: {} });
  expect(again.body).toMatchObject({ status: 409, hint: expect.stringContaining('rotate again') });
  const none = await tock.send('POST /v1/keys/tock_00000000/rotate', { body: {} });
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
