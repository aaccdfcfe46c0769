import type pg from 'pg';
import { expect } from 'vitest';
import { withClient } from '../../scripts/stack/roles.ts';
import { value, waitUntil } from '../sql/verbs.ts';
import { callLog, type Life } from './chaos_calls.ts';
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
import { startStandby } from './citus_cluster.ts';
import { withCitus } from './with_citus.ts';

// A coordinator and two nodes. The second one gets a standby, which takes its place.
const nodes = [1, 2];

let key = '';
const tested = withCitus('the failover of a node', 3, async () => {
  key = await prepareLoad(tested, nodes);
});
const { here, server, replace, cli, nameOf } = tested;

const promote = (client: pg.Client) => value(client, 'select pg_promote()');
const update = `
  select citus_update_node(nodeid, '127.0.0.1', $1) from pg_dist_node where groupid = 2`;

here(
  'a standby takes the place of its node under load: nothing is lost, and the order stays',
  async () => {
    const standby = await startStandby(server(2));
    const lives: Life[] = [0, ...nodes].map(() => ({ since: performance.now() }));
    const log = callLog(lives, nodes);
    const stopTicking = keepTicking(server, nodes, lives);
    const entrances = [0, 1].map((n) => bySql(`server ${n}`, server(n).url, [n]));
    const edge = Object.assign(new URL(server(0).url), { username: 'tock_edge' }).href;
    const bindings = { TOCK_NODES: 'ask', DATABASE_URL: edge };
    const worker = byWorker('Worker by the coordinator', key, bindings, [0]);
    const load = startLoad(log, nodes, entrances, [worker]);
    await answered(log, nodes, 200);

    (lives[2] as Life).since = null;
    await server(2).cluster.kill9();
    await answered(log, [1], 20);
    expect(await withClient(standby.url, promote)).toBe(true);
    // For seconds the coordinator sends no call on.
    (lives[0] as Life).since = null;
    await withClient(server(0).url, async (coordinator) => {
      await coordinator.query(update, [standby.port]);
      const address = 'update tock_nodes.nodes set address = $1 where node = 2';
      await coordinator.query(address, [`127.0.0.1:${standby.port}`]);
      const synced = 'select bool_and(metadatasynced) from pg_dist_node';
      await waitUntil('the nodes know the new place', () => value(coordinator, synced));
    });
    replace(2, standby);
    // What pg_cron does: guard() lets nobody write before it has looked at the sequence.
    await withClient(standby.url, (client) => client.query('select tock.tick()'));
    for (const life of lives) life.since ??= performance.now();
    await answered(log, nodes, 200);

    await load.stop();
    await recoverPrepared(server, [0, ...nodes]);
    await untilDone(server, nodes).finally(() => report('failover', log, load.records));
    await load.finish();
    await stopTicking();
    await verify(server, nodes, load.records);
    expect(Object.fromEntries(log.failures.living)).toEqual({});
    expect([...log.failures.others.keys()].join()).not.toContain("in the Worker's log");
    const listed = JSON.parse(await cli('nodes', 'list', '--json'));
    expect(listed.nodes[1]).toMatchObject({ address: nameOf(2), error: null });
  },
);
