import { createHash } from 'node:crypto';
import { beforeAll, expect, test } from 'vitest';
import { fileService } from './file_service.ts';

const tock = fileService();
let ids: string[];
let theirs: string[];
let lease: string;

const makeKey = async (options: string): Promise<string> =>
  (await tock.owner.query(`select key from tock.create_key('looker', ${options})`)).rows[0].key;
const get = (path: string, key?: string) => tock.send(`GET ${path}`, key ? { key } : {});
const lists = ['/v1/leases', '/v1/maintenance', '/v1/queues/q/why'];
const idsOf = (body: { tasks: { id: string }[] }) => body.tasks.map(({ id }) => id);

beforeAll(async () => {
  const put = (queue: string, tenant: string, count: number) =>
    tock.add(queue, ...Array(count).fill({ tenant, payload: 'secret' }));
  ids = await put('q', 'acme', 4);
  theirs = await put('q', 'evil', 3);
  await put('other', 'acme', 2);
  const claimed = await tock.claim('q', { worker: 'w', limit: 2, lease_seconds: 86_400 });
  lease = claimed.lease;
});

test("GET /v1/key shows the key's rights, and never the key or its hash", async () => {
  const key = await makeKey(
    `'{read}', p_queues => '{q}', p_tenants => '{acme}', p_rate_limit => 100, p_rate_seconds => 60`,
  );
  const { status, body, text } = await get('/v1/key', key);
  expect(status).toBe(200);
  expect(body).toEqual({
    prefix: key.slice(0, body.prefix.length),
    name: 'looker',
    scopes: ['read'],
    queues: ['q'],
    tenants: ['acme'],
    rate_limit: 100,
    rate_seconds: 60,
    created_at: expect.any(String),
    expires_at: null,
    installation: null,
    hidden_fields: [],
  });
  expect(text).not.toContain(key);
  expect(text).not.toContain(createHash('sha256').update(key).digest('hex'));
  expect((await get('/v1/key', 'tock_nothing')).status).toBe(401);
  expect((await tock.send('GET /v1/key', { key: null })).status).toBe(401);
  await tock.owner.query('select tock.revoke_key($1)', [body.prefix]);
  expect((await get('/v1/key', key)).status).toBe(401);
  const late = await makeKey(`'{claim}', p_expires_at => now() + interval '1 hour'`);
  expect((await get('/v1/key', late)).body).toMatchObject({ scopes: ['claim'], queues: null });
  await tock.owner.query(
    "update tock.keys set created_at = now() - interval '2 days', expires_at = now() - interval '1 s' where expires_at is not null",
  );
  expect((await get('/v1/key', late)).status).toBe(401);
});

test('a search continues at its cursor, and an invalid filter is refused by name', async () => {
  const listedIds: string[] = [];
  let cursor: string | null = null;
  do {
    const at: string = cursor ? `&cursor=${cursor}` : '';
    const { body } = await get(`/v1/tasks?queue=q&limit=2${at}`);
    listedIds.push(...idsOf(body));
    cursor = body.cursor;
  } while (cursor);
  expect(listedIds).toEqual([...ids, ...theirs].reverse());
  const { body } = await get('/v1/tasks');
  expect(body.tasks.every(({ preview }: { preview: string }) => preview.length > 0)).toBe(true);
  expect(idsOf((await get('/v1/tasks?state=running&worker=w')).body)).toHaveLength(2);
  for (const [query, field] of [
    ['state=done&error=x', 'error'],
    ['to=2026-13-01T00:00:00Z', 'to'],
    ['payload=%7Bcustomer', 'payload'],
    ['unique_key=x', 'queue'],
    ["cursor=';--", 'cursor'],
  ]) {
    const { status, body } = await get(`/v1/tasks?${query}`);
    expect([query, status, body.field]).toEqual([query, 422, field]);
  }
  expect((await get('/v1/leases?cursor=5b5d')).body).toMatchObject({
    status: 422,
    field: 'cursor',
  });
});

/** Nobody claims from `other`, which becomes a reason of its own after 15 seconds. */
const renewOther = () =>
  tock.owner.query(
    `update tock.runs set created_at = clock_timestamp()
     where stream in (select number from tock.streams where queue = 'other')`,
  );

test('a key for one queue searches only that queue', async () => {
  const key = await makeKey(`'{read}', p_queues => '{other}'`);
  expect(idsOf((await get('/v1/tasks?queue=other', key)).body)).toHaveLength(2);
  expect((await get('/v1/leases?queue=other', key)).body).toMatchObject({ leases: [] });
  await renewOther();
  expect((await get('/v1/queues/other/why', key)).body).toEqual({ reasons: [] });
  for (const path of [...lists, '/v1/tasks', '/v1/tasks?queue=q', '/v1/leases?queue=q'])
    expect([path, (await get(path, key)).status]).toEqual([path, 403]);
  const writes = await makeKey(`'{enqueue,claim,admin}'`);
  for (const path of ['/v1/tasks', ...lists])
    expect([path, (await get(path, writes)).status]).toEqual([path, 403]);
});

test('only a key for all queues sees whose transaction delays tasks', async () => {
  const key = await makeKey(`'{read}', p_queues => '{other}'`);
  const somebody = await tock.database.connect();
  await somebody.query("set application_name = 'payroll'; begin");
  await somebody.query(`select tock.enqueue('q', '[{}]')`);
  const reasons = async (own?: string) => {
    await renewOther();
    return (await get('/v1/queues/other/why', own)).body.reasons;
  };
  await expect.poll(reasons).toMatchObject([
    {
      finding: 'an open transaction holds tasks back',
      detail: expect.stringContaining('payroll'),
      hint: expect.stringMatching(/^have it commit/),
    },
  ]);
  expect(await reasons(key)).toEqual([
    {
      finding: 'an open transaction holds tasks back',
      severity: 'warning',
      detail: 'a session has written to Tock in a transaction that stays open',
      hint: 'have it commit: a key for all queues sees which session it is',
    },
  ]);
  await somebody.query('rollback');
  await somebody.end();
});

test('leases, maintenance jobs and reasons for late tasks are listed, without tokens', async () => {
  const { body, text } = await get('/v1/leases?queue=q');
  expect(body.leases).toMatchObject([
    { queue: 'q', worker: 'w', late: false, runs: 2, unfinished: 2 },
  ]);
  expect([...ids, ...theirs]).toEqual(expect.arrayContaining(body.leases[0].tasks));
  expect(text).not.toContain(lease);
  await tock.owner.query('select tock.tick()');
  const holders = (await get('/v1/maintenance')).body;
  const { rows } = await tock.owner.query('select name from tock.maintenance_jobs order by name');
  const jobs = rows.map(({ name }) => ({ name, late_seconds: null }));
  expect(holders.maintenance_jobs).toMatchObject(jobs);
  expect(holders.jobs).toEqual([]);
  expect(holders.segments.at(-1).state).toBe('in use');
  await tock.send('PUT /v1/queues/quiet', { body: {} });
  expect((await get('/v1/queues/quiet/why')).body).toEqual({ reasons: [] });
  await tock.send('PUT /v1/queues/q', { body: { paused: true } });
  expect((await get('/v1/queues/q/why')).body.reasons).toMatchObject([
    { finding: 'the queue is paused', severity: 'warning' },
  ]);
});
