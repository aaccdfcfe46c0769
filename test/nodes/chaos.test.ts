import { afterAll, expect, vi } from 'vitest';
import { dice } from '../../scripts/chaos/random.ts';
import { type Pooler, startPooler } from '../../scripts/stack/pooler.ts';
import { anyPort } from '../../scripts/stack/ports.ts';
import { conditionTimeout } from '../timeout.ts';
import { type CallLog, callLog, type Life } from './chaos_calls.ts';
import {
  answered,
  keepTicking,
  recoverPrepared,
  report,
  untilDone,
  verify,
} from './chaos_checks.ts';
import { bySql, byWorker } from './chaos_entrances.ts';
import { prepareLoad, startLoad } from './chaos_load.ts';
import { withCitus } from './with_citus.ts';

// A coordinator and three nodes, killed again and again under load. TOCK_CHAOS_KILLS sets how often.
const kills = Number(process.env.TOCK_CHAOS_KILLS ?? 6);
const nodes = [1, 2, 3];
const all = [0, ...nodes];

let key = '';
let pooler: Pooler;

const tested = withCitus('chaos of nodes', 4, async () => {
  key = await prepareLoad(tested, nodes);
  const { password } = new URL(server(0).url);
  const { host } = server(1).cluster;
  pooler = await startPooler(host, {
    port: await anyPort(),
    postgresPort: server(1).port,
    users: { postgres: password, tock_edge: password },
    settings: { server_login_retry: 0.1 },
    log: `${host.folder}/pgbouncer.log`,
  });
});
const { here, server } = tested;
afterAll(() => pooler?.stop());

const at = (port: number, node: number, user = 'postgres') =>
  Object.assign(new URL(server(node).url), { port: `${port}`, username: user }).href;

function entrances() {
  const edge = (node: number, port = server(node).port) => at(port, node, 'tock_edge');
  const straight = nodes.map((node) => `${node}=${edge(node)}`).join(',');
  return {
    sql: [
      ...all.map((n) => bySql(n === 0 ? 'coordinator' : `node ${n}`, server(n).url, [n])),
      bySql('pooler of node 1', at(pooler.port, 1), [1]),
    ],
    workers: [
      byWorker('Worker, straight', key, { TOCK_NODES: straight }, []),
      byWorker('Worker, ask', key, { TOCK_NODES: 'ask', DATABASE_URL: edge(2) }, [2]),
      byWorker(
        'Worker, ask pooler',
        key,
        { TOCK_NODES: 'ask', DATABASE_URL: edge(1, pooler.port) },
        [1],
      ),
    ],
  };
}

async function killAndStart(lives: Life[], log: CallLog): Promise<void> {
  const random = dice(kills);
  for (let killed = 0; killed < kills; ) {
    const victims = [random(all.length)];
    if (random(4) === 0) victims.push(((victims[0] as number) + 1 + random(3)) % all.length);
    for (const victim of victims) Object.assign(lives[victim] as Life, { since: null });
    await Promise.all(victims.map((victim) => server(victim).cluster.kill9()));
    killed += victims.length;
    await answered(
      log,
      nodes.filter((node) => !victims.includes(node)),
      1 + random(60),
    );
    await Promise.all(
      victims.map(async (victim) => {
        await server(victim).cluster.start();
        Object.assign(lives[victim] as Life, { since: performance.now() });
      }),
    );
    await answered(log, nodes, 1 + random(100));
  }
}

here(
  'kills of nodes and of the coordinator lose no task, double none and stop no other node',
  async () => {
    // The Worker logs what it cannot reach.
    vi.spyOn(console, 'error').mockImplementation((line) => {
      if (!/^503/.test(line)) console.warn(line);
    });
    const lives: Life[] = all.map(() => ({ since: performance.now() }));
    const log = callLog(lives, nodes);
    const { sql, workers } = entrances();
    const stopTicking = keepTicking(server, nodes, lives);
    const load = startLoad(log, nodes, sql, workers);
    await answered(log, nodes, 50);
    await killAndStart(lives, log);
    await load.stop();
    await recoverPrepared(server, all);
    await untilDone(server, nodes).finally(() => report(`${kills} kills`, log, load.records));
    await load.finish();
    await stopTicking();
    await verify(server, nodes, load.records);
    expect(Object.fromEntries(log.failures.living)).toEqual({});
    expect([...log.failures.others.keys()].join()).not.toContain("in the Worker's log");
  },
  conditionTimeout * (5 + kills),
);
