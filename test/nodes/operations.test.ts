import type pg from 'pg';
import { expect } from 'vitest';
import { withClient } from '../../scripts/stack/roles.ts';
import { tock } from '../cli/tock.ts';
import { refusal, rows, value } from '../sql/verbs.ts';
import { withCitus } from './with_citus.ts';

// A coordinator and two nodes; a third one is added. The tests build on each other.
let coordinator: pg.Client;

const { here, server, nameOf, run, cli, place } = withCitus(
  'the operation of nodes',
  4,
  async () => {
    const [first, second] = [server(1).url, server(2).url];
    expect(await tock(['migrate'], { env: { DATABASE_URL: first } })).toMatchObject({ code: 0 });
    await withClient(first, (client) => client.query("alter role tock_edge login password 'x'"));
    await cli('nodes', 'init', first, second);
    coordinator = await server(0).connect();
  },
);

const enqueue = (queue: string, count: number, from = coordinator) =>
  value<string[]>(from, 'select tock_nodes.enqueue($1, $2)', [
    queue,
    JSON.stringify(Array.from({ length: count }, () => ({}))),
  ]);

const rangesOf = (ids: string[]) => [...new Set(ids.map((id) => Number(BigInt(id) >> 53n)))];

/** Claims and completes until the queue gives nothing, and returns the ids in order. */
async function work(queue: string, client = coordinator): Promise<string[]> {
  const ids: string[] = [];
  const claim = 'select * from tock_nodes.claim($1, p_limit => 10)';
  for (;;) {
    const runs = await rows<{ id: string; lease: string }>(client, claim, [queue]);
    if (runs.length === 0) return ids;
    ids.push(...runs.map((run) => run.id));
    await client.query('select * from tock_nodes.complete($1)', [runs[0]?.lease]);
  }
}

const findings = async (node: number) => {
  const client = await server(node).connect();
  const found = await rows<{ finding: string; hint: string }>(
    client,
    'select * from tock.doctor_of_directory()',
  );
  await client.end();
  return found;
};

const login = "select rolcanlogin from pg_roles where rolname = 'tock_edge'";

here('the role of the HTTP server keeps its login on a node', async () => {
  expect(await withClient(server(1).url, (first) => value(first, login))).toBe(true);
});

here(
  'a node is added beside traffic, with the keys of the others, and gets queues by place',
  async () => {
    await place('busy', 1);
    const key = await tock(['key', 'create', 'k', '--scope', 'read'], {
      env: { DATABASE_URL: server(1).url },
    });
    expect(key.code).toBe(0);
    const enqueued: string[] = [];
    let over = false;
    const traffic = (async () => {
      const client = await server(0).connect();
      while (!over) enqueued.push(...(await enqueue('busy', 1, client)));
      await client.end();
    })();
    const added = await cli('nodes', 'add', server(3).url);
    over = true;
    await traffic;
    expect(added).toContain(`${nameOf(3)}, has range 2.`);
    expect(enqueued.length).toBeGreaterThan(3);
    expect(await work('busy')).toEqual(enqueued);
    const client = await server(3).connect();
    expect(await value(client, 'select count(*)::int from tock.keys')).toBe(1);
    expect(await value(client, 'select tock_nodes.this_node()')).toBe(3);
    await place('new', 3);
    expect(rangesOf(await enqueue('new', 1))).toEqual([2]);
    expect(await value(client, "select count(*)::int from tock.queues where name = 'new'")).toBe(1);
    await client.end();
    const { nodes, moves } = JSON.parse(await cli('nodes', 'list', '--json'));
    expect(nodes).toMatchObject([
      { node: 1, name: nameOf(1), ranges: [0], queues: 1, error: null },
      { node: 2, name: nameOf(2), ranges: [1], queues: 0 },
      { node: 3, name: nameOf(3), ranges: [2], queues: 1 },
    ]);
    expect(moves).toEqual([]);
    expect(await withClient(server(1).url, (first) => value(first, login))).toBe(true);
  },
);

here(
  'a queue that has tasks is moved: old tasks first, then the new ones, and ids stay',
  async () => {
    await place('moving', 1);
    const client = await server(1).connect();
    await client.query("select tock.put_queue('moving', '{\"max_attempts\": 3}')");
    const before = await enqueue('moving', 25);
    const once = "select tock_nodes.enqueue('moving', '[{}]', p_request_id => 'once')";
    before.push(...(await value<string[]>(coordinator, once)));
    const refused = await run('nodes', 'place', 'moving', nameOf(2));
    expect(refused.err).toContain(`Move it: tock nodes move moving ${nameOf(2)}`);
    const moved = await cli('nodes', 'move', 'moving', nameOf(2));
    expect(moved).toContain(`26 tasks left on ${nameOf(1)}, where claims look first.`);
    expect(await value(coordinator, once)).toEqual(before.slice(-1));
    const after = await enqueue('moving', 5);
    expect([rangesOf(before), rangesOf(after)]).toEqual([[0], [1]]);
    expect(await findings(1)).toEqual([]);
    const second = await server(2).connect();
    const attempts = "select max_attempts from tock.queue('moving')";
    expect(await value(second, attempts)).toBe(3);
    expect(await work('moving')).toEqual([...before, ...after]);
    expect(await cli('nodes', 'move', 'moving', nameOf(2))).toBe(
      `Queue moving is on ${nameOf(2)}.\n`,
    );
    expect(await value(client, "select count(*)::int from tock.queues where name = 'moving'")).toBe(
      0,
    );
    const direct = client.query("select tock.enqueue('moving', '[{}]')");
    expect(await refusal(direct)).toMatchObject({ code: 'TK421' });
    for (const id of [before[0], after[0]])
      expect(await value(coordinator, 'select state from tock_nodes.task($1)', [id])).toBe('done');
    await Promise.all([client.end(), second.end()]);
  },
);

here('a queue with a backlog is moved under load, and its tasks keep their order', async () => {
  await place('loaded', 1);
  const enqueued = await enqueue('loaded', 200);
  const claimed: string[] = [];
  const [producer, consumer] = [await server(1).connect(), await server(2).connect()];
  let over = false;
  const producing = (async () => {
    while (!over) enqueued.push(...(await enqueue('loaded', 1, producer)));
  })();
  const consuming = (async () => {
    while (!over || claimed.length < enqueued.length)
      claimed.push(...(await work('loaded', consumer)));
  })();
  for (const node of [2, 1, 2]) {
    const moved = await cli('nodes', 'move', 'loaded', nameOf(node), '--wait');
    expect(moved).toContain(`Queue loaded is on ${nameOf(node)}.`);
  }
  over = true;
  await Promise.all([producing, consuming]);
  expect(claimed).toEqual(enqueued);
  expect(rangesOf(enqueued).toSorted()).toEqual([0, 1]);
});

here(
  'a shard that the rebalancer of Citus has moved is a finding, and move brings the queue back',
  async () => {
    await place('rebalanced', 1);
    const ids = await enqueue('rebalanced', 2);
    await coordinator.query(
      `select citus_move_shard_placement(
       get_shard_id_for_distribution_column('tock_nodes.keys', 'rebalanced'),
       '127.0.0.1', $1::int, '127.0.0.1', $2::int, 'block_writes')`,
      [server(1).port, server(2).port],
    );
    expect(await findings(1)).toMatchObject([
      { finding: 'queues are on the wrong node', hint: expect.stringContaining('tock nodes move') },
    ]);
    await cli('nodes', 'move', 'rebalanced', nameOf(1));
    expect(await findings(1)).toEqual([]);
    expect(await work('rebalanced')).toEqual(ids);
    await coordinator.query(
      `select citus_move_shard_placement(
       get_shard_id_for_distribution_column('tock_nodes.keys', ':0'),
       '127.0.0.1', $1::int, '127.0.0.1', $2::int, 'block_writes')`,
      [server(1).port, server(2).port],
    );
    expect(await findings(1)).toMatchObject([
      {
        finding: 'ids lead to another node',
        hint: 'bring the range back: tock nodes place :0 NODE',
      },
    ]);
    await cli('nodes', 'place', ':0', nameOf(1));
    expect(await findings(1)).toEqual([]);
  },
);

here('a queue with a schedule is moved with it, a paused one with tasks is not', async () => {
  const client = await server(1).connect();
  await place('kept', 1);
  await enqueue('kept', 1);
  await client.query(
    `select tock.put_schedule('nightly', '{"queue": "kept", "cron": "0 3 * * *"}')`,
  );
  await client.query(`select tock.put_queue('kept', '{"paused": true}')`);
  const paused = await run('nodes', 'move', 'kept', nameOf(2));
  expect(paused.err).toContain('Resume it first: tock queue resume kept');
  await client.query(`select tock.put_queue('kept', '{"paused": false}')`);
  expect(await value(coordinator, 'select count(*)::int from tock_nodes.moves')).toBe(0);
  const timing = "select cron, due_at, next_fire_at from tock.schedules('kept')";
  const before = await rows(client, timing);
  expect(before).toHaveLength(1);
  await cli('nodes', 'move', 'kept', nameOf(2));
  expect(await rows(client, timing)).toEqual([]);
  expect(await withClient(server(2).url, (second) => rows(second, timing))).toEqual(before);
  expect(await work('kept')).toHaveLength(1);
  await cli('nodes', 'move', 'kept', nameOf(2));
  expect(await value(coordinator, 'select count(*)::int from tock_nodes.moves')).toBe(0);
  await client.end();
});

here('a range, the default policy and the queue of webhooks stay on their nodes', async () => {
  for (const name of [':0', '*', 'tock-webhooks']) {
    const refused = await run('nodes', 'move', name, nameOf(2));
    expect(refused).toMatchObject({ code: 2, err: expect.stringContaining('is not a queue') });
  }
  expect(await findings(1)).toEqual([]);
  const policies = "select count(*)::int from tock.queues where name = '*'";
  for (const node of [1, 2])
    expect(await withClient(server(node).url, (client) => value(client, policies))).toBe(1);
});

here('a drain of which one queue cannot move changes nothing', async () => {
  await place('stuck', 3);
  await enqueue('stuck', 1);
  const pause = (paused: boolean) =>
    withClient(server(3).url, (client) =>
      client.query("select tock.put_queue('stuck', $1)", [{ paused }]),
    );
  await pause(true);
  const refused = await run('nodes', 'drain', nameOf(3));
  expect(refused.err).toContain('Resume it first: tock queue resume stuck');
  expect(await rows(coordinator, 'select queue from tock_nodes.moves')).toEqual([]);
  await pause(false);
  expect(await work('stuck')).toHaveLength(1);
});

here(
  'a node is drained: its queues and its share of new names go to the others, its ids stay',
  async () => {
    const before = await enqueue('new', 3);
    const out = await cli('nodes', 'drain', nameOf(3));
    expect(out).toContain(`Queue new is on ${nameOf(1)}.`);
    expect(await work('new')).toHaveLength(4);
    await cli('nodes', 'drain', nameOf(3));
    const left = await value(
      coordinator,
      `select count(*)::int from pg_dist_placement p join pg_dist_shard s using (shardid)
     where s.logicalrelid = 'tock_nodes.keys'::regclass and p.groupid = 3`,
    );
    expect(left).toBe(1);
    expect(rangesOf(before)).toEqual([2]);
    expect(await value(coordinator, 'select state from tock_nodes.task($1)', [before[0]])).toBe(
      'done',
    );
  },
);

here('a node gets a further range of ids', async () => {
  const out = await cli('nodes', 'found', '9', '--node', nameOf(2));
  expect(out).toBe('Range 9: 8589934591 ids are left.\n');
  await place('further', 2);
  const ids = await enqueue('further', 1);
  expect(rangesOf(ids)).toEqual([9]);
  expect(await value(coordinator, 'select state from tock_nodes.task($1)', ids)).toBe('ready');
});

here('with one node down, the queues of the others go on, and its own say so', async () => {
  await place('down', 2);
  await place('up', 1);
  await enqueue('down', 1);
  await server(2).cluster.kill9();
  expect(await enqueue('up', 1)).toHaveLength(1);
  expect((await refusal(enqueue('down', 1))).code).toMatch(/^08/);
  expect(await work('up')).toHaveLength(1);
  const listed = await cli('nodes', 'list');
  expect(listed).toContain('unreachable');
  const placed = await run('nodes', 'place', 'elsewhere', nameOf(1));
  expect(placed.code).toBe(4);
  await server(2).cluster.start();
  expect(await enqueue('down', 1)).toHaveLength(1);
  expect(await work('down')).toHaveLength(2);
});

here('with the coordinator down, calls at any node go on', async () => {
  await place('first', 1);
  await place('second', 2);
  const client = await server(1).connect();
  await server(0).cluster.kill9();
  for (const queue of ['first', 'second']) expect(await enqueue(queue, 1, client)).toHaveLength(1);
  await client.query('begin');
  for (const queue of ['first', 'second']) expect(await enqueue(queue, 1, client)).toHaveLength(1);
  await client.query('commit');
  const claim = "select count(*)::int from tock_nodes.claim('second', p_limit => 5)";
  expect(await value(client, claim)).toBe(2);
  await server(0).cluster.start();
  await client.end();
});
