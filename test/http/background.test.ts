import { expect, test } from 'vitest';
import { die } from '../sql/features/bulk_changes/bulk_changes.ts';
import { fileService } from './file_service.ts';

const tock = fileService();
let count = 0;

const queue = () => `bg${++count}`;
const start = (q: string, body: object, key?: string) =>
  tock.post(`queues/${q}/bulk-changes`, body, key);
const look = async (id: string) => (await tock.send(`GET /v1/bulk-changes/${id}`)).body;

test('a redrive goes on in the background, and shows who started it and how far it is', async () => {
  const q = queue();
  await die(tock.owner, q, ['timeout', 'timeout', 'other']);
  const options = { error: 'timeout', to_queue: `${q}-b`, reason: 'mended' };
  const started = await start(q, { change: 'redrive', ...options });
  expect(started).toMatchObject({ status: 201, body: { id: expect.any(String) } });
  const { id } = started.body;
  expect(await look(id)).toEqual({
    id,
    change: 'redrive',
    queue: q,
    filter: { error: 'timeout' },
    options: { to_queue: `${q}-b`, reason: 'mended' },
    role: 'tock_edge',
    key: expect.stringMatching(/^tock_[0-9a-f]{8}$/),
    key_name: expect.any(String),
    created_at: expect.any(String),
    state: 'running',
    matched: 0,
    changed: 0,
    error: null,
    ended_at: null,
  });
  await tock.post('tick');
  const done = { state: 'done', matched: 2, changed: 2, ended_at: expect.any(String) };
  expect(await look(id)).toMatchObject(done);
  const { tasks } = (await tock.send(`GET /v1/tasks?queue=${q}-b`)).body;
  expect(tasks).toHaveLength(2);
});

test('a change that is stopped stays as it is, and the list has the newest first', async () => {
  const q = queue();
  const [first, second] = [
    (await start(q, { change: 'cancel', state: 'ready', tenant: 't' })).body.id,
    (await start(q, { change: 'reprioritize', priority: 0 })).body.id,
  ];
  const stop = () => tock.send(`POST /v1/bulk-changes/${first}/stop`, { body: {} });
  expect(await stop()).toMatchObject({ status: 200, body: { state: 'stopped' } });
  expect(await stop()).toMatchObject({ status: 200, body: { state: 'stopped' } });
  const list = async (more: string) =>
    (await tock.send(`GET /v1/bulk-changes?queue=${q}${more}`)).body.bulk_changes;
  expect(await list('')).toMatchObject([
    { id: second, change: 'reprioritize', options: { priority: 0 }, state: 'running' },
    { id: first, filter: { state: 'ready', tenant: 't' }, state: 'stopped' },
  ]);
  expect(await list('&limit=1')).toMatchObject([{ id: second }]);
  expect(await list(`&before=${second}`)).toMatchObject([{ id: first }]);
  expect(await tock.send('GET /v1/bulk-changes/4711')).toMatchObject({ status: 404 });
  const unknown = await tock.send('POST /v1/bulk-changes/4711/stop', { body: {} });
  expect(unknown.body).toMatchObject({ status: 404, detail: expect.stringContaining('no bulk') });
});

test('a key for one queue starts, sees and stops the changes of that queue only', async () => {
  const [mine, theirs] = [queue(), queue()];
  const key = await tock.makeKey(['enqueue', 'read'], [mine]);
  const reader = await tock.makeKey(['read'], [mine]);
  const own = await start(mine, { change: 'cancel' }, key);
  expect(own.status).toBe(201);
  const { id } = (await start(theirs, { change: 'cancel' })).body;
  const as = async (route: string, body?: object, by = key) =>
    (await tock.send(route, { key: by, ...(body && { body }) })).status;
  expect((await start(theirs, { change: 'cancel' }, key)).status).toBe(403);
  const away = await start(mine, { change: 'redrive', to_queue: theirs }, key);
  expect(away.status).toBe(403);
  expect(await as('GET /v1/bulk-changes')).toBe(403);
  expect(await as(`GET /v1/bulk-changes?queue=${theirs}`)).toBe(403);
  expect(await as(`GET /v1/bulk-changes?queue=${mine}`)).toBe(200);
  expect(await as(`GET /v1/bulk-changes/${id}`)).toBe(403);
  const far = (await start(mine, { change: 'redrive', to_queue: theirs, again: true })).body.id;
  const secret = "update tock.bulk_changes set error = '23514 secret' where id = $1";
  await tock.owner.query(secret, [far]);
  const seen = (await tock.send(`GET /v1/bulk-changes/${far}`, { key: reader })).body;
  expect(seen).toMatchObject({ role: null, key: null, key_name: null, error: '23514' });
  expect(seen.options).toEqual({ again: true });
  expect(await as(`POST /v1/bulk-changes/${id}/stop`, {})).toBe(403);
  expect(await look(id)).toMatchObject({ state: 'running' });
  expect(await as(`GET /v1/bulk-changes/${own.body.id}`, undefined, reader)).toBe(200);
  expect(await as(`POST /v1/bulk-changes/${own.body.id}/stop`, {}, reader)).toBe(403);
  expect(await as(`POST /v1/bulk-changes/${own.body.id}/stop`, {})).toBe(200);
});
