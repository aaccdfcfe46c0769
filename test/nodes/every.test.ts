import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { tock as cli } from '../cli/tock.ts';
import { type Cluster, cluster } from './cluster.ts';

let tock: Cluster;
beforeAll(async () => {
  tock = await cluster({ mail: 1, sms: 2, fax: 2 });
  vi.spyOn(console, 'error').mockImplementation(() => {});
});
afterAll(async () => {
  vi.restoreAllMocks();
  await tock.drop();
});

const ok = async (route: string, body?: unknown) => {
  const reply = await tock.send(route, body);
  expect([route, reply.status, reply.text]).toEqual([
    route,
    expect.toSatisfy((status) => status < 300),
    expect.any(String),
  ]);
  return reply.body;
};

test('lists and counts have what both nodes have', async () => {
  for (const queue of ['mail', 'sms', 'fax'])
    await ok(`POST /v1/queues/${queue}/tasks`, { tasks: [{}, {}, { delay_seconds: 60 }] });
  await ok('PUT /v1/queues/sms', { max_running: 5 });
  for (const queue of ['mail', 'sms']) {
    await ok(`POST /v1/queues/${queue}/claim`, { worker: 'w' });
    await ok(`PUT /v1/schedules/${queue}-daily`, { queue, cron: '@daily' });
    await ok(`PUT /v1/pools/${queue}/workers/w`, {});
  }
  const names = (rows: Record<string, unknown>[], name = 'name') => rows.map((row) => row[name]);
  const { queues } = await ok('GET /v1/queues');
  expect(names(queues)).toEqual(['fax', 'mail', 'sms']);
  expect(queues[1]).toMatchObject({ ready: 1, running: 1, waiting: 1, waiting_for: { time: 1 } });
  expect(names((await ok('GET /v1/overview')).queues)).toEqual(['fax', 'mail', 'sms']);
  expect(await ok('GET /v1/stats')).toMatchObject({ queues: 3, ready: 4, running: 2, waiting: 3 });
  expect((await ok('GET /v1/limits')).limits).toMatchObject([{ queue: 'sms', max_running: 5 }]);
  expect(names((await ok('GET /v1/schedules')).schedules)).toEqual(['mail-daily', 'sms-daily']);
  expect(names((await ok('GET /v1/schedules?limit=1')).schedules)).toEqual(['mail-daily']);
  expect(names((await ok('GET /v1/schedules?after=mail-daily')).schedules)).toEqual(['sms-daily']);
  expect(names((await ok('GET /v1/schedules?queue=sms')).schedules)).toEqual(['sms-daily']);
  expect(names((await ok('GET /v1/pools')).pools, 'pool')).toEqual(['mail', 'sms']);
  expect(names((await ok('GET /v1/leases')).leases, 'queue').sort()).toEqual(['mail', 'sms']);
  expect((await ok('GET /v1/workers')).workers).toMatchObject([
    { worker: 'w', queues: ['mail', 'sms'], leases: 2, open_leases: 2 },
  ]);
  const { points, step_seconds } = await ok('GET /v1/series');
  expect(step_seconds).toBe(60);
  expect(points.length).toBeGreaterThan(50);
  const { maintenance_jobs, segments } = await ok('GET /v1/maintenance');
  for (const rows of [maintenance_jobs, segments])
    expect(new Set(names(rows, 'node'))).toEqual(new Set([1, 2]));
  expect(await ok('POST /v1/tick', {})).toMatchObject({ next_wake_at: expect.any(String) });
  expect(await ok('GET /v1/archive')).toMatchObject({ enabled: false, rows: 0 });
  expect(await ok('GET /v1/health')).toEqual({ status: 'ok', database: 'reachable' });
  expect(await ok('GET /v1/key')).toMatchObject({ name: 'test' });
  expect(await ok('GET /v1/next-fires?cron=@daily&count=2')).toMatchObject({ fires: [{}, {}] });
});

test('pages of tasks of both nodes go on to the last, each task once', async () => {
  const seen: string[] = [];
  let cursor: string | null = '';
  for (let n = 0; cursor !== null && n < 20; n++) {
    const page = await ok(`GET /v1/tasks?limit=4${cursor && `&cursor=${cursor}`}`);
    expect(page.tasks.length).toBeLessThanOrEqual(4);
    seen.push(...page.tasks.map(({ id }: { id: string }) => id));
    ({ cursor } = page);
  }
  expect(cursor).toBeNull();
  expect(seen).toHaveLength(9);
  expect(new Set(seen).size).toBe(9);
  for (const cursor of ['5b5d', 'ff0001', 'ff00010010ab'])
    expect(await tock.send(`GET /v1/tasks?cursor=${cursor}`)).toMatchObject({
      status: 422,
      body: { field: 'cursor' },
    });
});

test('the metrics have one block for each metric, and samples with their node', async () => {
  const { text, status } = await tock.send('GET /metrics');
  expect(status).toBe(200);
  const types = text.split('\n').filter((line) => line.startsWith('# TYPE'));
  expect(new Set(types).size).toBe(types.length);
  expect(text).toMatch(/^tock_segments\{node="1"} \d+\ntock_segments\{node="2"} \d+$/m);
  expect(text).toMatch(/^tock_maintenance_job_failures\{node="2",maintenance_job="/m);
  expect(text).not.toMatch(/^[a-z]\w* /m);
});

test('an audit log of both nodes goes on by number', async () => {
  const seen: string[] = [];
  let before = '';
  for (let n = 0; n < 50; n++) {
    const { entries } = await ok(`GET /v1/audit-log?limit=2${before}`);
    if (entries.length === 0) break;
    seen.push(...entries.map(({ number }: { number: string }) => number));
    before = `&before=${seen.at(-1)}`;
  }
  expect(new Set(seen).size).toBe(seen.length);
  let expected = 0;
  for (const { owner } of tock.nodes.values())
    expected += (await owner.query('select count(*)::int as n from tock.audit_log')).rows[0].n;
  expect(seen).toHaveLength(expected);
});

test('a node that is down is missing in lists, in a header and a field', async () => {
  const routes = `queues overview stats limits schedules pools leases workers series maintenance archive
    tasks audit-log bulk-changes keys doctor`;
  for (const path of routes.split(/\s+/)) {
    const reply = await tock.send(`GET /v1/${path}`, undefined, { down: [1] });
    expect([path, reply.status, reply.body.missing_nodes]).toEqual([path, 200, [1]]);
    expect(reply.headers.get('Tock-Missing-Nodes')).toBe('1');
  }
  const metrics = await tock.send('GET /metrics', undefined, { down: [2] });
  expect(metrics.headers.get('Tock-Missing-Nodes')).toBe('2');
  expect(metrics.text).not.toContain('node="2"');
  const health = await tock.send('GET /v1/health', undefined, { down: [2] });
  expect(health).toMatchObject({ status: 200, body: { missing_nodes: [2] } });
  expect(await tock.send('GET /v1/health', undefined, { down: [1, 2] })).toMatchObject({
    status: 503,
  });
  expect(await tock.send('GET /v1/queues', undefined, { down: [1, 2] })).toMatchObject({
    status: 503,
  });
});

test('the command line says on stderr which nodes a list lacks', async () => {
  const server = createServer(async ({ url = '' }, response) => {
    const headers = { authorization: `Bearer ${tock.key}` };
    const answer = await tock.request(url, { headers }, [1]);
    response.writeHead(answer.status, { 'content-type': 'application/json' });
    response.end(await answer.text());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const env = { TOCK_URL: `http://127.0.0.1:${port}`, TOCK_KEY: tock.key };
  const { code, out, err } = await cli(['queue', 'list'], { env });
  server.close();
  expect([code, err]).toEqual([0, 'Node 1 does not answer: what it has is left out.\n']);
  expect(out).toContain('sms');
});

test('a call for a node that is down is a 503 that names it, and other queues go on', async () => {
  const { ids } = await ok('POST /v1/queues/mail/tasks', { tasks: [{}] });
  const down = { down: [1] };
  for (const [route, body] of [
    ['POST /v1/queues/mail/tasks', {}],
    ['GET /v1/queues/mail', undefined],
    [`GET /v1/tasks/${ids[0]}`, undefined],
    ['POST /v1/queues/mail/claim', {}],
    ['GET /v1/schedules/mail-daily', undefined],
    ['GET /v1/schedules/unknown', undefined],
  ] as const) {
    const reply = await tock.send(route, body, down);
    expect([route, reply.status, reply.body.detail]).toEqual([
      route,
      503,
      'The database of node 1 is unreachable or overloaded. Other nodes are not concerned.',
    ]);
  }
  expect(await tock.send('POST /v1/queues/sms/tasks', {}, down)).toMatchObject({ status: 201 });
  expect(await tock.send('GET /v1/schedules/sms-daily', undefined, down)).toMatchObject({
    status: 200,
  });
  expect(await tock.send('GET /v1/key', undefined, down)).toMatchObject({ status: 200 });
  const claim = { queues: ['mail', 'sms'], limit: 10 };
  const claimed = await tock.send('POST /v1/claim', claim, down);
  expect(claimed).toMatchObject({ status: 200, body: { state: 'found', missing_nodes: [1] } });
  expect(claimed.body.leases).toMatchObject([{ queue: 'sms' }]);
  const none = await tock.send('POST /v1/claim', { queues: ['mail'] }, down);
  expect(none).toMatchObject({ status: 503 });
});

const keysOf = (node: number) => tock.rows(node, 'select prefix from tock.keys order by 1');

test('a key is made, changed, rotated and revoked on both nodes', async () => {
  const made = await ok('POST /v1/keys', {
    name: 'k',
    scopes: ['enqueue', 'read'],
    rate_limit: 1000,
  });
  const works = async (key: string, status = 201) => {
    for (const queue of ['mail', 'sms']) {
      const reply = await tock.send(`POST /v1/queues/${queue}/tasks`, {}, { key });
      expect([queue, reply.status]).toEqual([queue, status]);
    }
  };
  await works(made.key);
  const changed = await ok(`PATCH /v1/keys/${made.prefix}`, { name: 'renamed' });
  expect(changed).toMatchObject({ name: 'renamed' });
  const rotated = await ok(`POST /v1/keys/${made.prefix}/rotate`, { overlap_seconds: 0 });
  await works(rotated.key);
  await works(made.key, 401);
  const { keys } = await ok('GET /v1/keys');
  expect(keys.map(({ name }: { name: string }) => name)).toEqual(['test', 'renamed', 'renamed']);
  expect(keys[2]).toMatchObject({
    prefix: rotated.prefix,
    rate_limit: 1000,
    scopes: ['enqueue', 'read'],
  });
  await ok(`DELETE /v1/keys/${rotated.prefix}`);
  await works(rotated.key, 401);
  expect(await keysOf(1)).toEqual(await keysOf(2));
  expect(await tock.send('DELETE /v1/keys/tock_00000000')).toMatchObject({ status: 404 });
});

test('while a node is down no key and no default policy changes', async () => {
  const before = await keysOf(1);
  for (const [route, body] of [
    ['POST /v1/keys', { name: 'k', scopes: ['read'] }],
    ['PUT /v1/queues/*', { lanes: 4 }],
    ['PUT /v1/archive', { prefix: 'other' }],
    ['POST /v1/events', { event: 'e' }],
  ] as const) {
    const reply = await tock.send(route, body, { down: [2] });
    expect([route, reply.status, reply.body]).toEqual([
      route,
      503,
      expect.objectContaining({
        detail: 'Node 2 does not answer, and this call is for all nodes.',
        hint: 'Nothing was changed: repeat the call.',
      }),
    ]);
  }
  expect(await keysOf(1)).toEqual(before);
  expect(await ok('GET /v1/queues/*')).toMatchObject({ lanes: 8 });
});

test('the default policy is the same on both nodes', async () => {
  expect(await ok('PUT /v1/queues/*', { lanes: 4 })).toMatchObject({ lanes: 4 });
  for (const { owner } of tock.nodes.values()) {
    const { rows } = await owner.query("select lanes from tock.queues where name = '*'");
    expect(rows).toEqual([{ lanes: 4 }]);
  }
});

test('the steps of an archive are for one node', async () => {
  for (const path of ['end', 'step'])
    expect(await tock.send(`POST /v1/archive/${path}`, {})).toMatchObject({
      status: 409,
      body: { detail: 'This call is for one node, and this Worker has several.' },
    });
});
