import { expect } from 'vitest';
import { withClient } from '../../scripts/stack/roles.ts';
import { value } from '../sql/verbs.ts';
import { callLog, type Life } from './chaos_calls.ts';
import {
  answered,
  keepTicking,
  recoverPrepared,
  report,
  untilDone,
  verify,
} from './chaos_checks.ts';
import { bySql } from './chaos_entrances.ts';
import { prepareLoad, startLoad } from './chaos_load.ts';
import { startStandby } from './citus_cluster.ts';
import { withCitus } from './with_citus.ts';

// A coordinator and two nodes. The second one gets a standby, which takes its place.
const nodes = [1, 2];

const { here, server, replace, cli, nameOf, place } = withCitus(
  'the failover of a node',
  3,
  async () => {
    await cli('nodes', 'init', ...nodes.map((node) => server(node).url));
    await prepareLoad(server(0), nodes, place);
  },
);

here(
  'a standby takes the place of its node under load: nothing is lost, and the order stays',
  async () => {
    const lives: Life[] = [0, ...nodes].map(() => ({ since: performance.now() }));
    const log = callLog(lives, nodes);
    const standby = await startStandby(server(2));
    const stopTicking = keepTicking(server, nodes, lives);
    const entrances = [0, 1].map((n) => bySql(`server ${n}`, server(n).url, [n]));
    const load = startLoad(log, nodes, entrances, []);
    await answered(log, nodes, 200);

    const lost = lives[2] as Life;
    lost.since = null;
    await server(2).cluster.kill9();
    await answered(log, [1], 20);
    expect(await withClient(standby.url, (client) => value(client, 'select pg_promote()'))).toBe(
      true,
    );
    await withClient(server(0).url, async (coordinator) => {
      const update = `select citus_update_node(nodeid, '127.0.0.1', $1) from pg_dist_node where groupid = 2`;
      await coordinator.query(update, [standby.port]);
      await coordinator.query('update tock_nodes.nodes set address = $1 where node = 2', [
        `127.0.0.1:${standby.port}`,
      ]);
    });
    replace(2, standby);
    lost.since = performance.now();
    await answered(log, nodes, 200);

    await load.stop();
    await recoverPrepared(server, [0, ...nodes]);
    await untilDone(server, nodes);
    await load.finish();
    await stopTicking();
    report('failover', log, load.records);
    await verify(server, nodes, load.records);
    expect(Object.fromEntries(log.failures.living)).toEqual({});
    const listed = JSON.parse(await cli('nodes', 'list', '--json'));
    expect(listed.nodes[1]).toMatchObject({ address: nameOf(2), error: null });
  },
);
