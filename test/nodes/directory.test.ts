import { afterAll, beforeAll, expect, test } from 'vitest';
import { createApp } from '../../functions/http/app.ts';
import { type Cluster, cluster, nodeOf } from './cluster.ts';

let tock: Cluster;
beforeAll(async () => {
  tock = await cluster({ here: 1, there: 2, moving: 1, torn: 1 });
});
afterAll(() => tock.drop());

const isLookup = ({ text }: { text: string }) => text.includes('tock_nodes.routes');
const enqueue = (queue: string) => tock.send(`POST /v1/queues/${queue}/tasks`, {});

test('the owner of a queue is looked up once, and each further call is one statement', async () => {
  await enqueue('there');
  tock.sent();
  for (let n = 0; n < 3; n++) expect((await enqueue('there')).status).toBe(201);
  expect(tock.sent()).toEqual(
    Array(3).fill({ node: 2, text: expect.stringContaining('tock.http_enqueue(') }),
  );
  const { body } = await enqueue('here');
  const lookups = tock.sent().filter(isLookup);
  expect(lookups).toHaveLength(1);
  await tock.send(`GET /v1/tasks/${body.ids[0]}`);
  await tock.send(`POST /v1/tasks/${body.ids[0]}/cancel`, {});
  expect(tock.sent().filter(isLookup)).toHaveLength(1);
});

test('after a queue has moved, a call reads the directory again and is repeated once', async () => {
  const [before = ''] = (await enqueue('moving')).body.ids;
  expect(nodeOf(before)).toBe(1);
  await tock.move('moving', 2);
  tock.sent();
  const [after = ''] = (await enqueue('moving')).body.ids;
  expect(nodeOf(after)).toBe(2);
  expect(tock.sent().map(({ node, text }) => [node, isLookup({ node, text } as never)])).toEqual([
    [1, false],
    [1, true],
    [2, false],
  ]);
  expect(await tock.rows(1, "select from tock.queues where name = 'moving'")).toEqual([]);
  await tock.move('moving', 1);
  const claim = await tock.send('POST /v1/claim', { queues: ['moving', 'here'] });
  expect(claim).toMatchObject({ status: 200 });
  expect((await enqueue('moving')).body.ids.map(nodeOf)).toEqual([1]);
});

test('a queue that both nodes refuse is a 503 without an effect', async () => {
  await tock.rows(2, "update tock_nodes.keys set node = 1 where key = 'torn'");
  await tock.rows(1, "update tock_nodes.keys set node = 2 where key = 'torn'");
  const reply = await enqueue('torn');
  expect(reply).toMatchObject({
    status: 503,
    body: {
      detail: 'What this call is for is moving to another node. The call had no effect.',
      hint: 'Repeat the call.',
    },
  });
  expect(reply.headers.get('Retry-After')).toMatch(/^\d$/);
});

test('a queue that the directory does not know is on the first node', async () => {
  expect((await enqueue('unknown')).body.ids.map(nodeOf)).toEqual([1]);
});

test('the refusals of a node reach the caller, and an unknown key stays unknown', async () => {
  expect(await tock.send('GET /v1/queues', undefined, { key: 'tock_no' })).toMatchObject({
    status: 401,
  });
  expect(await tock.send('GET /v1/queues', undefined, { key: null })).toMatchObject({
    status: 401,
  });
  const large = { payload: 'x'.repeat(9000) };
  const refused = await tock.send('POST /v1/queues/there/tasks', large, { key: 'tock_no' });
  expect(refused).toMatchObject({ status: 401 });
  expect(await tock.send('POST /v1/queues/there/tasks', large)).toMatchObject({ status: 201 });
  const pipeline = ['here', 'there'];
  const across = await tock.send('POST /v1/queues/here/tasks', { pipeline });
  expect(across).toMatchObject({ status: 422, body: { field: 'pipeline' } });
  expect(await tock.send(`GET /v1/tasks/${(5n << 53n) + 7n}`)).toMatchObject({ status: 404 });
});

test.each([
  ['1=postgres://127.0.0.1/a,1=postgres://127.0.0.1/b', 'TOCK_NODES is not a list of nodes.'],
  ['1024=postgres://127.0.0.1/a', 'TOCK_NODES is not a list of nodes.'],
  ['postgres://127.0.0.1/a', 'TOCK_NODES is not a list of nodes.'],
  ['1=NONE', 'TOCK_NODES names a binding that does not exist.'],
])('TOCK_NODES of %s is a 503 that says what is wrong', async (TOCK_NODES, detail) => {
  const init = { headers: { authorization: `Bearer ${tock.key}` } };
  const reply = await createApp(tock.connect).request('/v1/queues', init, { TOCK_NODES });
  expect(await reply.json()).toMatchObject({ status: 503, detail });
});

test('the names of bindings may stand for URLs, and a node that is not in TOCK_NODES is named', async () => {
  const [first = ''] = (tock.bindings().TOCK_NODES ?? '').split(',');
  const bindings = { TOCK_NODES: '1=FIRST', FIRST: first.slice(2) };
  const app = createApp(tock.connect);
  const init = { headers: { authorization: `Bearer ${tock.key}` } };
  expect((await app.request('/v1/queues/here', init, bindings)).status).toBe(200);
  const refused = await app.request('/v1/queues/there', init, bindings);
  expect(await refused.json()).toMatchObject({ status: 503, detail: 'TOCK_NODES lacks node 2.' });
});
