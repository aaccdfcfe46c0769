import { tock as cli } from '../../test/cli/tock.ts';
import { noCitus } from '../../test/nodes/citus_build.ts';
import { type Server, startServers } from '../../test/nodes/citus_cluster.ts';
import { connected, cpuSeconds, settings } from '../cluster.ts';
import { listed, payload } from '../payload.ts';
import { noQuota, type Quota, quotaOf } from '../quota.ts';
import { tock } from '../systems/tock.ts';
import type { Case, Group, Run, Side, System, TestDatabase } from '../types.ts';
import { median, ratio, rounded } from '../windows.ts';

const CORES = 0.3;
const QUEUES = 4;
const CLIENTS = 5;
/** New sessions are slow: each has plans to make, and connections to the other nodes. */
const WARM_UP = 4;
const counts = [1, 2, 3];

type Call = {
  verb: 'enqueue' | 'cycle';
  batch: number /** The highest rate of a node so far. */;
  most: number;
};
const calls: Call[] = [
  { verb: 'enqueue', batch: 1, most: 0 },
  { verb: 'enqueue', batch: 100, most: 0 },
  { verb: 'cycle', batch: 1, most: 700 },
  { verb: 'cycle', batch: 100, most: 20_000 },
];

type Way = 'straight' | 'any node' | 'coordinator';
const ways: Way[] = ['straight', 'any node', 'coordinator'];

/** A server with its share of a core, or the coordinator, which has no limit. */
type Member = { number: number; server: Server; database: TestDatabase; quota: Quota | null };

const queueOf = (node: number | string, queue: number | string) =>
  `'q-' || ${node} || '-' || ${queue}`;

/** The script of a client that calls one node, or by tock_nodes.ask() any of several. */
function scriptOf({ verb, batch }: Call, node: number | null, nodes: number): string {
  const choice = `\\set node ${node ?? `random(1, ${nodes})`}\n\\set queue random(1, ${QUEUES})\n`;
  const queue = queueOf(':node::text', ':queue::text');
  const ask = (key: string, statement: string, values: string) =>
    `select a.answer from tock_nodes.ask(${key}, '${statement}', array[${values}]) a (answer)`;
  if (verb === 'enqueue') {
    const { set, text } = listed(batch, `{"payload": ${payload(100)}}`, ['[', ']']);
    const call =
      node === null
        ? ask(queue, 'select tock.enqueue(%1$L, %2$L)::text', `${queue}, ${text}`)
        : `select tock.enqueue(${queue}, ${text}::jsonb)`;
    return `${choice}${set}\n${call};\n`;
  }
  const claim = `tock.claim(%1$L, p_limit => ${batch}, p_own_transaction => true)`;
  if (node !== null) {
    const direct = claim.replace('%1$L', () => queue);
    return `${choice}select lease, id, payload from ${direct} \\aset
select * from tock.complete(:lease::uuid);\n`;
  }
  const lease = 'left(:answer, 36)';
  const claimed = `select concat_ws('' '', c.lease, c.id, c.payload) from ${claim} c`;
  const complete = 'select row_to_json(c)::text from tock.complete(%1$L) c';
  return `${choice}${ask(queue, claimed, queue)} \\aset
${ask(`tock_nodes.lease_key(${lease}::uuid)`, complete, lease)};\n`;
}

/** Positions of a node begin at its range. */
async function countsOf({ database }: Member) {
  const { enqueued, finished } = await tock.counts(database);
  return { enqueued: enqueued % 2 ** 33, finished };
}

/** Enqueues over eight connections, so that the streams of eight writers exist. */
async function fill({ number, database }: Member, tasks: number): Promise<void> {
  const text = `[${Array(1000).fill(payload(100)).join(',')}]`;
  let left = Math.ceil(tasks / 1000);
  const writer = async () => {
    const client = await connected(database.url);
    while (left-- > 0) {
      const queue = `q-${number}-${(left % QUEUES) + 1}`;
      await client.query('select cardinality(tock.enqueue_payloads($1, $2))', [queue, text]);
    }
    await client.end();
  };
  await Promise.all(Array.from({ length: 8 }, writer));
}

async function prepare(member: Member, { verb, most }: Call, seconds: number): Promise<void> {
  const { database, quota } = member;
  quota?.set(null);
  const { enqueued, finished } = await countsOf(member);
  if (verb === 'cycle')
    await fill(member, 1.5 * most * (WARM_UP + seconds + 1) - (enqueued - finished));
  for (const sql of ['vacuum analyze', 'checkpoint', 'select tock.tick()'])
    await database.client.query(sql);
  quota?.set(CORES);
}

/** The CPU time of servers between the two counts of a window. */
function meter(members: Member[]) {
  const readings = new Map<Member, number[]>(members.map((member) => [member, []]));
  async function counted<T>(member: Member, count: () => Promise<T>): Promise<T> {
    const before = await cpuSeconds(member.server);
    const result = await count();
    readings.get(member)?.push(before, await cpuSeconds(member.server));
    return result;
  }
  const ofNode = (node: Member) => counted(node, () => countsOf(node));
  return {
    /** Tock at a node, or with `nodes` at the coordinator. */
    system(member: Member, nodes?: Member[]): System {
      const ofAll = async () => {
        const all = await Promise.all((nodes ?? []).map(ofNode));
        const sum = (of: 'enqueued' | 'finished') => all.reduce((total, one) => total + one[of], 0);
        return { enqueued: sum('enqueued'), finished: sum('finished') };
      };
      return { ...tock, counts: () => (nodes ? counted(member, ofAll) : ofNode(member)) };
    },
    spent: (member: Member) => {
      const [, from = 0, to = 0] = readings.get(member) ?? [];
      return to - from;
    },
  };
}

/** The rate of one way with some nodes, and the CPU time of a task on the nodes and at the coordinator. */
type Result = { rate: number; onNodes: number; atCoordinator: number };

async function measure(
  run: Run,
  [coordinator, ...nodes]: [Member, ...Member[]],
  call: Call,
  way: Way,
): Promise<Result> {
  const seconds = Math.max(run.seconds, 3);
  for (const node of nodes) await prepare(node, call, seconds);
  const { system, spent } = meter([coordinator, ...nodes]);
  const side = (member: Member, node: number | null, clients: number): Side => ({
    database: member.database,
    system: system(member, member === coordinator ? nodes : undefined),
    works: [{ work: { by: 'pgbench', script: scriptOf(call, node, nodes.length) }, clients }],
  });
  const sides =
    way === 'coordinator'
      ? [side(coordinator, null, CLIENTS * nodes.length)]
      : nodes.map((node) => side(node, way === 'straight' ? node.number : null, CLIENTS));
  const all = await run.together(sides, seconds, WARM_UP);
  const done = all.map(({ enqueued, finished }) => (call.verb === 'enqueue' ? enqueued : finished));
  const tasks = done.reduce((sum, count) => sum + count, 0);
  const rate = tasks / Math.max(...all.map((one) => one.seconds));
  call.most = Math.max(call.most, rate / nodes.length);
  const microseconds = (members: Member[]) =>
    (members.reduce((sum, member) => sum + spent(member), 0) * 1e6) / tasks;
  return { rate, onNodes: microseconds(nodes), atCoordinator: microseconds([coordinator]) };
}

async function casesOf(run: Run, [coordinator, ...nodes]: [Member, ...Member[]]): Promise<Case[]> {
  const results = new Map<string, Result[]>();
  const nameOf = ({ verb, batch }: Call, way: Way) => `nodes: ${verb} ${batch}, ${way}`;
  const entries = calls.flatMap((call) =>
    ways.flatMap((way) =>
      counts.map((count) => ({
        name: `${nameOf(call, way)}, ${count}`,
        async window() {
          const result = await measure(run, [coordinator, ...nodes.slice(0, count)], call, way);
          const name = `${nameOf(call, way)}, ${count}`;
          results.set(name, [...(results.get(name) ?? []), result]);
          return result.rate;
        },
      })),
    ),
  );
  const figures = await run.interleave(entries);
  return calls.flatMap((call) =>
    ways.map((way): Case => {
      const rateOf = (of: Way, count: number) => figures[`${nameOf(call, of)}, ${count}`]?.value;
      const single = rateOf('straight', 1);
      const parts = counts.map((count) => {
        const of = (read: (result: Result) => number) =>
          rounded(median((results.get(`${nameOf(call, way)}, ${count}`) ?? []).map(read)));
        const value = rateOf(way, count);
        const times = ratio(value, single)?.toFixed(2);
        const cpu = `${of((result) => result.onNodes)} + ${of((result) => result.atCoordinator)} µs`;
        return `${count}: ${rounded(value)} (${times} of one node straight, ${cpu} of CPU a task)`;
      });
      return {
        name: nameOf(call, way),
        unit: 'tasks/s',
        ...figureOf(rateOf(way, 3)),
        note: parts.join('; '),
        windows: Object.fromEntries(
          counts.map((count) => [
            `${count}`,
            figures[`${nameOf(call, way)}, ${count}`]?.windows ?? [],
          ]),
        ),
      };
    }),
  );
}

const figureOf = (value?: number | null) => ({ tock: value ?? null, floor: null, peers: {} });

async function opened(server: Server, number: number): Promise<Member> {
  const database = { url: server.url, client: await connected(server.url) };
  const name = `tock-bench-${process.pid}-${number}`;
  return {
    number,
    server,
    database,
    quota: number === 0 ? null : quotaOf(name, server.cluster.pid),
  };
}

async function measured(run: Run): Promise<Case[]> {
  const cannot = noCitus() ?? noQuota();
  if (cannot) {
    run.say(`  skipped: ${cannot}`);
    return [];
  }
  const servers = await startServers(4, { ...settings, max_wal_size: '1GB' });
  const members: Member[] = [];
  run.defer(async () => {
    for (const { database } of members) await database.client.end();
    await Promise.all(servers.map((server) => server.remove()));
    for (const { quota } of members) quota?.remove();
  });
  const [coordinator, ...nodes] = servers.map(({ url }) => url);
  const made = await cli(['nodes', 'init', ...nodes], { env: { DATABASE_URL: coordinator } });
  if (made.code !== 0) throw new Error(made.err);
  for (const [number, server] of servers.entries()) members.push(await opened(server, number));
  for (const { number } of members.slice(1)) await pinQueues(servers, number);
  return await casesOf(run, members as [Member, ...Member[]]);
}

async function pinQueues(servers: Server[], node: number): Promise<void> {
  const name = `127.0.0.1:${servers[node]?.port}`;
  for (let queue = 1; queue <= QUEUES; queue++) {
    const args = ['nodes', 'place', `q-${node}-${queue}`, name];
    const placed = await cli(args, { env: { DATABASE_URL: servers[0]?.url } });
    if (placed.code !== 0) throw new Error(placed.err);
  }
}

/** Tock on one, two and three nodes with Citus, each with the same share of a core: straight to the owner of the queue,
 * by way of any node, and by way of the coordinator. */
export const groups: Group[] = [{ name: 'nodes', slow: true, run: measured }];
