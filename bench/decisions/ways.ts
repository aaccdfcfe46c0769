import { connect } from '../../functions/database/connect.ts';
import { createApp } from '../../functions/http/app.ts';
import { withClient } from '../../scripts/stack/roles.ts';
import { softly } from '../../scripts/stack/say.ts';
import { prepare, testCluster } from '../../test/cluster.ts';
import { placeOf, startBridge } from '../../test/ways/bridge.ts';
import { bindings, neonUrl, ways } from '../../test/ways/setting.ts';

/** What each way to the database adds to a request: one task enqueued, the ways in turn, medians. */
const rounds = Number(process.argv[2] ?? 200);

const made = await testCluster('ways', softly);
try {
  const as = (port: number, user: string, password: string) =>
    Object.assign(new URL(made.cluster.url('ways')), { port, username: user, password }).href;
  const { port } = made.cluster;
  const owner = as(port, 'tock', made.passwords.owner);
  await prepare(owner, made.passwords.edge);
  const pooler = await made.pool();
  const direct = as(port, 'tock_edge', made.passwords.edge);
  const pooled = as(pooler.port, 'tock_edge', made.passwords.edge);
  const bridge = await startBridge(placeOf(direct), placeOf(pooled));
  const urls = { direct, pooled, neon: neonUrl(direct), proxy: bridge.origin };
  const key = await withClient(owner, async (client) => {
    const { rows } = await client.query(
      "select key from tock.create_key(p_name => 'ways', p_scopes => array['enqueue'])",
    );
    return rows[0].key as string;
  });
  const app = createApp(connect);
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const init = { method: 'POST', headers, body: '{"payload": 1}' };
  const taken = new Map(ways.map((way) => [way, [] as number[]]));
  for (let round = -20; round < rounds; round++) {
    for (const way of ways) {
      const started = performance.now();
      const reply = await app.request('/v1/queues/q/tasks', init, bindings(way, urls));
      await reply.text();
      if (reply.status !== 201) throw new Error(`${way}: ${reply.status}`);
      if (round >= 0) taken.get(way)?.push(performance.now() - started);
    }
  }
  for (const [way, times] of taken) {
    const median = times.toSorted((a, b) => a - b)[times.length >> 1] ?? 0;
    console.log(`${way.padEnd(12)}${median.toFixed(2).padStart(8)} ms`);
  }
  await bridge.stop();
} finally {
  await made.close();
}
