import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { connect } from '../../functions/database/connect.ts';
import type { Bindings } from '../../functions/env.ts';
import { createApp } from '../../functions/http/app.ts';
import { withClient } from '../../scripts/stack/roles.ts';
import { tock } from '../cli/tock.ts';
import { noCitus } from './citus_build.ts';
import { withCitus } from './with_citus.ts';

// The HTTP server on a coordinator without a schema tock, and two nodes.
let key = '';
/** The last lines that the HTTP server has logged. */
let logged: unknown[] = [];

const { server, nameOf, cli, place } = withCitus('the HTTP server on Citus', 3, async () => {
  const [first, second] = [server(1).url, server(2).url];
  const { password } = new URL(first);
  const env = { DATABASE_URL: first };
  expect(await tock(['migrate'], { env })).toMatchObject({ code: 0 });
  const login = `alter role tock_edge login password '${password}'`;
  await withClient(first, (client) => client.query(login));
  const scopes = 'enqueue,claim,read,admin';
  key = JSON.parse(
    (await tock(['key', 'create', 'k', '--scope', scopes, '--json'], { env })).out,
  ).key;
  await cli('nodes', 'init', first, second);
  vi.spyOn(console, 'error').mockImplementation((...line) => {
    logged = [...logged.slice(-4), ...line];
  });
});
afterAll(() => vi.restoreAllMocks());

const edge = (n: number) => Object.assign(new URL(server(n).url), { username: 'tock_edge' }).href;

type Task = { id: string; payload: { n?: number; fire?: { fire_at: string } } };

describe.skipIf(noCitus() !== null).each([
  ['straight', (): Bindings => ({ TOCK_NODES: `1=${edge(1)},2=${edge(2)}` })],
  ['ask', (): Bindings => ({ TOCK_NODES: 'ask', DATABASE_URL: edge(0) })],
])('the HTTP server, %s,', (mode, bindings) => {
  const app = createApp(connect);
  const send = async (route: string, body?: unknown) => {
    const [method = 'GET', path = ''] = route.split(' ');
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const init = { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) };
    const response = await app.request(`/v1/${path}`, init, bindings());
    return { status: response.status, body: await response.json() };
  };
  const ok = async (route: string, body?: unknown) => {
    const reply = await send(route, body);
    const failure = reply.status < 300 ? null : { ...reply.body, logged };
    expect([route, failure]).toEqual([route, null]);
    return reply.body;
  };
  const post = (path: string, body: object = {}) => ok(`POST ${path}`, body);
  const queues = [`${mode}-1`, `${mode}-2`] as const;
  const rangeOf = (id: string) => Number(BigInt(id) >> 53n);
  const rangesOf = (ids: string[]) => [...new Set(ids.map(rangeOf))];
  const streamOf = (id: string) => `${rangeOf(id)}:${BigInt.asUintN(20, BigInt(id))}`;
  const byStream = (ids: string[]) => Object.groupBy(ids, streamOf);
  beforeAll(async () => {
    for (const [n, queue] of queues.entries()) await place(queue, n + 1);
  });

  test('works on the tasks of both nodes, and lists them', async () => {
    for (const [n, queue] of queues.entries()) {
      const { ids } = await post(`queues/${queue}/tasks`, { tasks: [{}, {}] });
      expect(rangesOf(ids)).toEqual([n]);
      const { lease, tasks } = await post(`queues/${queue}/claim`, { worker: mode });
      expect(tasks).toMatchObject([{ id: ids[0] }]);
      expect(await post(`leases/${lease}/complete`)).toMatchObject({ completed: 1 });
      expect(await ok(`GET tasks/${ids[0]}`)).toMatchObject({ state: 'done', queue });
    }
    const list = await ok('GET tasks?limit=1000');
    expect(rangesOf(list.tasks.map(({ id }: Task) => id)).toSorted()).toEqual([0, 1]);
    const names = (await ok('GET queues')).queues.map(({ name }: { name: string }) => name);
    expect(names).toEqual(expect.arrayContaining([...queues]));
    const { leases } = await post('claim', { queues, limit: 10 });
    expect(leases.map(({ queue }: { queue: string }) => queue)).toEqual(queues);
    for (const { lease } of leases) await post(`leases/${lease}/complete`);
  });

  test('keeps the order in a queue that moves under load, and each fire of its schedule', async () => {
    const queue = `${mode}-moving`;
    await place(queue, 1);
    const schedule = { queue, every_seconds: 1, missed: 'all', fire_as: 'fire' };
    await ok(`PUT schedules/${mode}`, schedule);
    const enqueued: string[] = [];
    let isMoved = false;
    let isOver = false;
    const produce = async () => {
      for (let n = 0; !isOver; n++) {
        const { ids } = await post(`queues/${queue}/tasks`, { payload: { n } });
        enqueued.push(...ids);
      }
    };
    const tick = async () => {
      while (!isOver) await post('tick');
    };
    // A worker that ends its leases with its next claim. It falls behind, so the queue has a backlog when it moves.
    const worked: Task[] = [];
    const work = async () => {
      for (let ends: object[] = []; ; ) {
        const claim = { limit: isMoved ? 50 : 1, ...(ends.length > 0 && { ends }) };
        const { lease, tasks, state, ended } = await post(`queues/${queue}/claim`, claim);
        expect(ended ?? []).toEqual(
          ends.map((end) => expect.objectContaining({ ...end, lost: false })),
        );
        worked.push(...tasks);
        ends = lease ? [{ lease }] : [];
        if (isOver && state === 'empty' && ends.length === 0) return;
      }
    };
    const load = Promise.all([produce(), tick(), work()]);
    const isEnqueued = (count: number) =>
      Promise.race([load, vi.waitUntil(() => enqueued.length > count, { timeout: 60_000 })]);
    try {
      await isEnqueued(20);
      const moved = JSON.parse(await cli('nodes', 'move', queue, nameOf(2), '--json'));
      expect(moved.left).toMatchObject([{ node: nameOf(1), tasks: expect.any(Number) }]);
      expect(await ok(`GET schedules/${mode}`)).toMatchObject({ queue });
      isMoved = true;
      await isEnqueued(enqueued.length + 20);
    } finally {
      isOver = true;
    }
    await load;
    expect(rangesOf(enqueued)).toEqual([0, 1]);
    const own = worked.filter(({ payload }) => payload.n !== undefined).map(({ id }) => id);
    // The fires hold the slot of a stream for moments, so the queue has several streams on each node.
    expect(byStream(own)).toEqual(byStream(enqueued));
    expect(own.map(rangeOf)).toEqual(own.map(rangeOf).toSorted());
    const fires = worked.flatMap(({ payload }) => Date.parse(payload.fire?.fire_at ?? '') || []);
    const [first = 0] = fires;
    expect(fires.toSorted((a, b) => a - b)).toEqual(fires.map((_, n) => first + 1000 * n));
    expect(fires.length).toBeGreaterThan(5);
    await ok(`DELETE schedules/${mode}`);
    await cli('nodes', 'move', queue, nameOf(2), '--wait');
    const { ids } = await post(`queues/${queue}/tasks`, {});
    expect(await post(`queues/${queue}/claim`)).toMatchObject({ tasks: [{ id: ids[0] }] });
  });

  test('goes on for the other queues while a node is down, and says what is missing', async () => {
    await server(2).cluster.kill9();
    for (const path of ['queues', 'tasks', 'overview'])
      expect(await ok(`GET ${path}`)).toMatchObject({ missing_nodes: [2] });
    expect(await send(`POST queues/${queues[1]}/tasks`, {})).toMatchObject({ status: 503 });
    const { ids } = await post(`queues/${queues[0]}/tasks`, {});
    const claimed = await post('claim', { queues: queues.toReversed() });
    expect(claimed).toMatchObject({ leases: [{ tasks: [{ id: ids[0] }] }], missing_nodes: [2] });
    await server(2).cluster.start();
    expect(rangesOf((await post(`queues/${queues[1]}/tasks`)).ids)).toEqual([1]);
    expect(await ok('GET queues')).not.toHaveProperty('missing_nodes');
  });
});
