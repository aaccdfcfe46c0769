import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Cluster, cluster, nodeOf } from './cluster.ts';

/** The queue, schedule and pool of each node. */
const owners = { q1: 1, q2: 2, p1: 1, p2: 2, other1: 1, other2: 2, empty2: 2 };

describe.each([
  ['straight to the owner', false],
  ['by way of node 1', true],
])('%s', (_, ask) => {
  let tock: Cluster;
  beforeAll(async () => {
    tock = await cluster(owners, { ask });
  });
  afterAll(() => tock.drop());

  const ok = async (route: string, body?: unknown) => {
    const reply = await tock.send(route, body);
    expect([route, reply.status, reply.status < 300 ? null : reply.body]).toEqual([
      route,
      expect.toSatisfy((status) => status < 300),
      null,
    ]);
    expect(reply.headers.get('Tock-Missing-Nodes')).toBeNull();
    return reply.body;
  };
  const post = (path: string, body: unknown = {}) => ok(`POST /v1/${path}`, body);

  test.each([1, 2])('the life of a task is that of one database, on node %i', async (node) => {
    const queue = `q${node}`;
    const payload = { text: `100 % of 'it' "costs" $1 \\ and %1$L`, number: null };
    const task = { payload, headers: { a: 'b' } };
    const tasks = [task, { depends_on: ['*'], name: 'n' }, { delay_seconds: 60 }];
    const { ids } = await post(`queues/${queue}/tasks`, { tasks, request_id: 'r' });
    expect(ids.map(nodeOf)).toEqual([node, node, node]);
    expect((await post(`queues/${queue}/tasks`, { tasks, request_id: 'r' })).ids).toEqual(ids);
    const [id, child, waiting] = ids;
    expect(await ok(`GET /v1/tasks/${id}`)).toMatchObject({ id, queue, state: 'ready', payload });
    expect(await ok(`GET /v1/tasks/${id}/children`)).toMatchObject({ children: [{ id: child }] });
    expect(await ok(`GET /v1/tasks/${child}/parents`)).toMatchObject({ parents: [{ id }] });
    expect(await ok(`PATCH /v1/tasks/${waiting}`, { priority: 1 })).toMatchObject({
      changed: true,
    });
    const claim = await post(`queues/${queue}/claim`, { worker: 'w' });
    expect(claim).toMatchObject({ state: 'found', tasks: [{ id, payload, headers: { a: 'b' } }] });
    const lease = `leases/${claim.lease}`;
    expect(await post(`${lease}/extend`, { progress: { progress: 50 } })).toMatchObject({
      runs: 1,
    });
    const step = { id, name: 's', result: [1.5, 'x'] };
    expect(await post(`${lease}/steps`, { steps: [step] })).toMatchObject({
      steps: [{ id, state: 'done', result: [1.5, 'x'] }],
    });
    expect(await ok(`GET /v1/${lease}/steps?id=${id}`)).toMatchObject({ steps: [{ name: 's' }] });
    expect(await ok(`GET /v1/tasks/${id}/steps`)).toMatchObject({ steps: [{ name: 's' }] });
    const result = { id, result: { done: true } };
    const next = await post(`queues/${queue}/claim`, {
      ends: [{ lease: claim.lease, results: [result] }],
    });
    expect(next).toMatchObject({ tasks: [{ id: child }], ended: [{ completed: 1 }] });
    expect(await post(`leases/${next.lease}/release`)).toMatchObject({ released: 1 });
    const again = await post(`queues/${queue}/claim-for-worker`, { worker: 'x' });
    expect(again).toMatchObject({ tasks: [{ id: child }] });
    const error = { name: 'E', message: 'no' };
    expect(await post(`leases/${again.lease}/fail`, { error, fatal: true })).toMatchObject({
      dead: 1,
    });
    expect(await ok(`GET /v1/queues/${queue}/dead`)).toMatchObject({ groups: [{ tasks: 1 }] });
    const rerun = await post(`tasks/${child}/rerun`, { reason: 'why' });
    expect(nodeOf(rerun.rerun_id)).toBe(node);
    expect(await post(`tasks/${waiting}/cancel`)).toMatchObject({ changed: true });
    expect(await ok(`DELETE /v1/tasks/${waiting}/payload`)).toMatchObject({ erased: 1 });
    expect(await ok(`GET /v1/queues/${queue}/ended`)).toMatchObject({
      states: [{ tasks: 1 }, { tasks: 1 }, { tasks: 0 }],
    });
    expect(await post(`queues/${queue}/redrive`, { again: true })).toMatchObject({ redriven: 1 });
    expect(await post(`queues/${queue}/purge`)).toMatchObject({ ready: 2 });
  });

  test.each([1, 2])('a queue and what belongs to it are on node %i', async (node) => {
    const queue = `other${node}`;
    const path = `/v1/queues/${queue}`;
    expect(await ok(`PUT ${path}`, { rate_limit: 5, max_running: 7 })).toMatchObject({
      name: queue,
    });
    expect(await ok(`GET ${path}`)).toMatchObject({ rate_limit: 5, ready: 0 });
    expect(await ok(`GET ${path}/limits`)).toMatchObject({ max_running: 7 });
    await ok(`POST ${path}/limits/reset`, {});
    await ok(`PATCH ${path}/concurrency-keys/c`, { paused: true });
    expect(await ok(`GET ${path}/concurrency-keys`)).toMatchObject({
      concurrency_keys: [{ concurrency_key: 'c', paused: true }],
    });
    await ok(`DELETE ${path}/concurrency-keys/c`);
    expect(await ok(`GET ${path}/why`)).toMatchObject({ reasons: [] });
    await ok(`GET ${path}/series`);
    const schedule = `/v1/schedules/s${node}`;
    await ok(`PUT ${schedule}`, { queue, cron: '0 0 1 1 *', payload: { node } });
    expect(await ok(`GET ${schedule}`)).toMatchObject({ queue, payload: { node } });
    expect(await ok(`POST ${schedule}/pause`, {})).toMatchObject({ state: 'paused' });
    expect(await ok(`POST ${schedule}/resume`, {})).toMatchObject({ state: 'active' });
    const { id } = await ok(`POST ${schedule}/run`, { request_id: 'run' });
    expect(nodeOf(id)).toBe(node);
    expect(await ok(`GET ${schedule}/fires`)).toMatchObject({ fires: [{ task_id: id }] });
    expect((await ok(`GET ${schedule}/next`)).fires).toHaveLength(5);
    const other = await tock.send(`PUT ${schedule}`, { queue: `q${3 - node}`, cron: '@daily' });
    expect(other).toMatchObject({ status: 409, body: { field: 'schedule' } });
    expect(await ok(`DELETE ${schedule}`)).toEqual({ dropped: true });
    expect(await tock.send(`GET ${schedule}`)).toMatchObject({ status: 404 });
    const worker = `/v1/pools/p${node}/workers/w`;
    expect(await ok(`PUT ${worker}`, {})).toMatchObject({ state: 'free' });
    expect(await ok(`POST /v1/pools/p${node}/assign`, { task: 't' })).toMatchObject({
      worker: 'w',
    });
    expect(await ok(`GET /v1/pools/p${node}`)).toMatchObject({ members: [{ task: 't' }] });
    await ok(`DELETE ${worker}`);
    const made = await tock.rows(
      node,
      "select count(*)::int as n from tock.queues where name like 'other%'",
    );
    expect(made).toEqual([{ n: 1 }]);
  });

  test('bulk changes of both nodes have different numbers', async () => {
    const started = [];
    for (const queue of ['q1', 'q2'])
      started.push((await post(`queues/${queue}/bulk-changes`, { change: 'cancel' })).id);
    expect(started.map(nodeOf)).toEqual([1, 2]);
    for (const [n, id] of started.entries()) {
      expect(await ok(`GET /v1/bulk-changes/${id}`)).toMatchObject({ id, queue: `q${n + 1}` });
      expect(await post(`bulk-changes/${id}/stop`)).toMatchObject({ state: 'stopped' });
    }
    const listed = await ok('GET /v1/bulk-changes?limit=1');
    expect(listed.bulk_changes).toMatchObject([{ id: started[1], queue: 'q2' }]);
    const rest = await ok(`GET /v1/bulk-changes?before=${started[1]}`);
    expect(rest.bulk_changes).toMatchObject([{ id: started[0], queue: 'q1' }]);
    expect(await tock.send('GET /v1/bulk-changes/1')).toMatchObject({ status: 404 });
  });

  test('ids of both nodes in one call go to both, and the rows come together', async () => {
    const ids: string[] = [];
    for (const queue of ['q1', 'q2'])
      ids.push(...(await post(`queues/${queue}/tasks`, { tasks: [{}, {}] })).ids);
    const changed = (reply: { tasks: { id: string; changed: boolean }[] }) =>
      reply.tasks.filter((row) => row.changed).map(({ id }) => id);
    expect(changed(await post('tasks/reprioritize', { ids, priority: 2 })).sort()).toEqual(
      ids.sort(),
    );
    expect(changed(await post('tasks/cancel', { ids })).sort()).toEqual(ids.sort());
    const rerun = await post('tasks/rerun', { ids, request_id: 'again' });
    expect(await post('tasks/rerun', { ids, request_id: 'again' })).toEqual(rerun);
    expect(rerun.tasks.map((row: { rerun_id: string }) => nodeOf(row.rerun_id)).sort()).toEqual([
      1, 1, 2, 2,
    ]);
    const moved = await tock.send('POST /v1/tasks/move', { ids, queue: 'other1' });
    expect(moved).toMatchObject({
      status: 422,
      body: { field: expect.stringMatching(/^ids\[\d]$/) },
    });
    await post('queues/q1/purge');
    await post('queues/q2/purge');
  });

  test('a claim of queues of both nodes goes from node to node, in their order', async () => {
    const claim = (body: object) => post('claim', { worker: 'w', ...body });
    const queuesOf = (reply: { leases: { queue: string; tasks: unknown[] }[] }) =>
      reply.leases.map(({ queue, tasks }) => [queue, tasks.length]);
    expect(await claim({ queues: ['q2', 'q1'] })).toMatchObject({ leases: [], state: 'empty' });
    for (const queue of ['q1', 'q2'])
      await post(`queues/${queue}/tasks`, { payloads: [1.1, 2, 3] });
    expect(queuesOf(await claim({ queues: ['q2', 'q1'], limit: 1 }))).toEqual([['q2', 1]]);
    const both = await claim({ queues: ['q2', 'empty2', 'q1'], limit: 4, request_id: 'c' });
    expect(queuesOf(both)).toEqual([
      ['q2', 2],
      ['q1', 2],
    ]);
    expect(both).toMatchObject({ state: 'found', retry_after_seconds: 0 });
    const repeated = await claim({ queues: ['q2', 'empty2', 'q1'], limit: 4, request_id: 'c' });
    expect(repeated).toEqual(both);
    const weighted = [
      { queue: 'q1', weight: 1 },
      { queue: 'q2', weight: 9 },
    ];
    expect(queuesOf(await claim({ queues: weighted, limit: 5 }))).toEqual([['q1', 1]]);
    for (const { lease } of both.leases)
      expect(await post(`leases/${lease}/complete`)).toMatchObject({ completed: 2 });
  });

  test('a claim ends a lease of another node there', async () => {
    const { ids } = await post('queues/q2/tasks', {});
    const { lease } = await post('queues/q2/claim');
    const next = await post('queues/q1/claim', { ends: [{ lease }] });
    expect(next).toMatchObject({ lease: null, ended: [{ lease, completed: 1, lost: false }] });
    expect(await ok(`GET /v1/tasks/${ids[0]}`)).toMatchObject({ state: 'done' });
  });

  test('a link is used on the node that made it, and an event reaches the tasks of both', async () => {
    const { token } = await post('event-links', { event: 'q2/paid' });
    const used = await tock.send(`POST /v1/events/${token}`, {}, { key: null });
    expect(used).toMatchObject({ status: 200, body: { accepted: true } });
    expect(await tock.send(`POST /v1/events/${token}`, {}, { key: null })).toMatchObject({
      status: 409,
    });
    expect(await tock.send('POST /v1/events/abc', {}, { key: null })).toMatchObject({
      status: 404,
    });
    for (const queue of ['q1', 'q2']) {
      await post(`queues/${queue}/tasks`, {});
      const { lease, tasks } = await post(`queues/${queue}/claim`);
      await post(`leases/${lease}/steps`, { steps: [{ id: tasks[0].id, name: 'e', event: 'go' }] });
    }
    expect(await post('events', { event: 'go' })).toEqual({ accepted: true, woken: 2 });
  });
});
