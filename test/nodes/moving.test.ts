import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { MOVES_MS } from '../../functions/nodes/directory.ts';
import { type Cluster, cluster, nodeOf } from './cluster.ts';

const log = vi.spyOn(console, 'error').mockImplementation(() => {});
afterAll(() => log.mockRestore());

describe.each([
  ['straight to the owner', false],
  ['by way of node 1', true],
])('of a queue that moves, %s', (_, ask) => {
  let tock: Cluster;
  let queue = '';
  let count = 0;
  beforeAll(async () => {
    tock = await cluster({ still: 2 }, { ask });
  });
  beforeEach(async () => {
    queue = `moving-${count++}`;
    for (const node of [1, 2])
      await tock.rows(node, 'insert into tock_nodes.keys values ($1, 1)', [queue]);
  });
  afterEach(() => void vi.spyOn(performance, 'now').mockRestore());
  afterAll(() => tock.drop());

  const post = async (path: string, body: unknown = {}, options = {}) => {
    const reply = await tock.send(`POST /v1/${path}`, body, options);
    expect([path, reply.status, reply.text]).toEqual([
      path,
      expect.toSatisfy((status) => status < 300),
      expect.any(String),
    ]);
    return reply.body;
  };
  const get = async (path: string) => (await tock.send(`GET /v1/${path}`)).body;
  const enqueue = async (n: number): Promise<string[]> =>
    (await post(`queues/${queue}/tasks`, { tasks: Array(n).fill({}) })).ids;
  const claim = (body: object = {}) =>
    post(`queues/${queue}/claim`, { worker: 'w', limit: 10, ...body });
  const idsOf = ({ tasks }: { tasks: { id: string }[] }) => tasks.map(({ id }) => id);
  const complete = ({ lease }: { lease: string }) => post(`leases/${lease}/complete`);

  const leave = async () => {
    for (const node of [1, 2])
      await tock.rows(node, 'delete from tock_nodes.moves where queue = $1', [queue]);
    const [row] = await tock.rows(1, 'select tock.leave_queue($1) as tasks', [queue]);
    expect(row.tasks).toBe('0');
  };
  const later = () => {
    const now = performance.now.bind(performance);
    vi.spyOn(performance, 'now').mockImplementation(() => now() + MOVES_MS + 1);
  };
  const move = async () => {
    await tock.recordMove(queue);
    later();
    await tock.flip(queue);
  };

  test('old tasks are claimed before new ones, and the old node forgets it', async () => {
    const before = await enqueue(3);
    await move();
    const after = await enqueue(2);
    expect([...before, ...after].map(nodeOf)).toEqual([1, 1, 1, 2, 2]);
    const first = await claim();
    expect(idsOf(first)).toEqual(before);
    const second = await claim();
    expect(idsOf(second)).toEqual(after);
    expect(await claim()).toMatchObject({ lease: null, tasks: [], state: 'empty' });
    for (const lease of [first, second])
      expect(await complete(lease)).toMatchObject({ refused: [] });
    await leave();
    const [id] = await enqueue(1);
    expect(nodeOf(id ?? '')).toBe(2);
    expect(idsOf(await claim())).toEqual([id]);
  });

  test('a call knows of it at the latest after five seconds, and until then asks nothing more', async () => {
    const [before] = await enqueue(1);
    await claim();
    tock.sent();
    await tock.recordMove(queue);
    expect(await claim()).toMatchObject({ state: 'empty' });
    expect(tock.sent()).toHaveLength(1);
    later();
    await claim();
    const texts = tock.sent().map(({ text }) => text);
    expect(texts.filter((text) => text.includes('tock_nodes.routes'))).not.toEqual([]);
    await tock.flip(queue);
    const [after] = await enqueue(1);
    expect([before, after].map((id) => nodeOf(id ?? ''))).toEqual([1, 2]);
    expect(idsOf(await claim())).toEqual([after]);
  });

  test('a claim ends leases of both nodes, and the numbers of results keep their digits', async () => {
    const before = await enqueue(2);
    await move();
    const after = await enqueue(3);
    const old = [await claim({ limit: 1 }), await claim({ limit: 1 })];
    const one = await claim({ limit: 1 });
    const ends = [
      { lease: old[0].lease },
      { lease: one.lease, results: [{ id: after[0], result: 'RESULT' }] },
      { lease: old[1].lease, failures: [{ id: before[1], error: { message: 'no' }, fatal: true }] },
    ];
    const body = JSON.stringify({ worker: 'w', ends }).replace('"RESULT"', '12345678901234567.10');
    const headers = { authorization: `Bearer ${tock.key}`, 'content-type': 'application/json' };
    const init = { method: 'POST', headers, body };
    const reply = await tock.request(`/v1/queues/${queue}/claim`, init);
    const next = await reply.json();
    expect(next).toMatchObject({
      state: 'found',
      tasks: [{ id: after[1] }],
      ended: [
        { lease: old[0].lease, completed: 1, lost: false },
        { lease: one.lease, completed: 1, lost: false },
        { lease: old[1].lease, failed: 1, dead: 1, lost: false },
      ],
    });
    const { text } = await tock.send(`GET /v1/tasks/${after[0]}`);
    expect(text).toContain('12345678901234567.10');
    const last = await claim({ ends: [{ lease: next.lease }, { lease: old[0].lease }] });
    expect(last).toMatchObject({
      tasks: [{ id: after[2] }],
      ended: [{ completed: 1 }, { completed: 1 }],
    });
    const none = await claim({ ends: [{ lease: last.lease }], wait_seconds: 1 });
    expect(none).toMatchObject({ lease: null, state: 'empty', ended: [{ completed: 1 }] });
  });

  test('a waiting claim finds what becomes ready on the old node', async () => {
    await enqueue(1);
    const { lease, tasks } = await claim();
    await move();
    const waiting = claim({ wait_seconds: 30 });
    let sent = 0;
    await vi.waitUntil(() => {
      sent += tock.sent().length;
      return sent > 3;
    });
    await post(`leases/${lease}/release`);
    expect(idsOf(await waiting)).toEqual(idsOf({ tasks }));
  });

  test('a claim of several queues looks on the old node too, in their order', async () => {
    const before = await enqueue(1);
    await move();
    const after = await enqueue(1);
    const { ids: still } = await post('queues/still/tasks', {});
    const claimed = async (queues: unknown[], limit = 10) => {
      const { leases } = await post('claim', { worker: 'w', queues, limit });
      const ids: string[] = leases.flatMap(idsOf);
      for (const lease of leases) await post(`leases/${lease.lease}/release`);
      return ids;
    };
    expect(await claimed(['still', queue])).toEqual([...still, ...before, ...after]);
    expect(await claimed([queue, 'still'])).toEqual([...before, ...after, ...still]);
    expect(await claimed([queue, 'still'], 1)).toEqual(before);
    const weighted = [
      { queue, weight: 1 },
      { queue: 'still', weight: 1 },
    ];
    const ids = await claimed(weighted);
    expect(ids.toSorted()).toEqual([...before, ...after, ...still].toSorted());
    expect(ids.indexOf(before[0] as string)).toBeLessThan(ids.indexOf(after[0] as string));
    expect(await claimed(['still'])).toEqual(still);
    await post('queues/still/purge');
  });

  test('a worker with one task at a time gets the old ones first', async () => {
    const ids = await enqueue(1);
    await move();
    ids.push(...(await enqueue(1)));
    for (const id of ids) {
      const claim = () => post(`queues/${queue}/claim-for-worker`, { worker: 'one' });
      const claimed = await claim();
      expect(idsOf(claimed)).toEqual([id]);
      expect((await claim()).lease).toBe(claimed.lease);
      await complete(claimed);
    }
  });

  test('its counts and lists are those of both nodes', async () => {
    await enqueue(2);
    await post(`queues/${queue}/claim`, { worker: 'a' });
    await move();
    await enqueue(3);
    await tock.send(`PUT /v1/queues/${queue}`, { max_attempts: 7 });
    const counts = { ready: 4, running: 1, waiting: 0, max_attempts: 7 };
    expect(await get(`queues/${queue}`)).toMatchObject(counts);
    expect((await get(`tasks?queue=${queue}`)).tasks).toHaveLength(5);
    expect((await get(`leases?queue=${queue}`)).leases).toHaveLength(1);
    expect((await get(`workers?queue=${queue}`)).workers).toMatchObject([{ worker: 'a' }]);
  });
});

test('with the old node down, a claim of the queue waits for it, and counts say that it is missing', async () => {
  const tock = await cluster({ moving: 2, ':3': 1 });
  await tock.recordMove('moving');
  const enqueued = await tock.send('POST /v1/queues/moving/tasks', {});
  expect(enqueued.status).toBe(201);
  const claim = (down: number[]) => tock.send('POST /v1/queues/moving/claim', {}, { down });
  expect(await claim([1])).toMatchObject({
    status: 503,
    body: { detail: expect.stringContaining('node 1') },
  });
  const queue = await tock.send('GET /v1/queues/moving', undefined, { down: [1] });
  expect(queue).toMatchObject({ status: 200, body: { ready: 1, missing_nodes: [1] } });
  // Node 1 has nothing of the queue, and says that it is elsewhere.
  expect(await claim([])).toMatchObject({ status: 200, body: { state: 'found' } });
  await tock.drop();
});
