import pg from 'pg';
import { bundle } from '../../scripts/bundle.ts';
import { poolOfEnds } from '../../scripts/stack/pooler.ts';
import { softly } from '../../scripts/stack/say.ts';
import { prepare, testCluster } from '../../test/cluster.ts';
import { serveBundle } from '../../test/worker/workerd.ts';

/**
 * What completions wait while enqueues flood one workerd: without places and a pool of their own, with each, with both.
 * First as fast as the machine is, then with a database that takes 100 ms for each enqueue, as one does whose disk is busy.
 */
const seconds = Number(process.argv[2] ?? 8);
const enqueuers = Number(process.argv[3] ?? 400);
const completers = 4;
const LEASES = 1500;

const made = await testCluster('flood', softly);
try {
  const as = (role: string, password: string, port: number, name = 'flood') =>
    `postgres://${role}:${password}@127.0.0.1:${port}/${name}`;
  const owner = as('tock', made.passwords.owner, made.cluster.port);
  await prepare(owner, made.passwords.edge);
  const { port } = await made.pool({ ends: 'flood' });
  const DATABASE_URL = as('tock_edge', made.passwords.edge, port);
  const own = {
    DATABASE_URL_ENDS: as('tock_edge', made.passwords.edge, port, poolOfEnds('flood')),
  };
  // Fewer than those who flood.
  const places = { TOCK_MOST_AT_ONCE: '100' };
  const unbounded = { TOCK_MOST_AT_ONCE: '100000' };
  const { code } = await bundle();
  const db = new pg.Client({ connectionString: owner });
  await db.connect();
  const key: string = (
    await db.query("select key from tock.create_key('flood', '{enqueue,claim,read}')")
  ).rows[0].key;
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };

  async function leases(): Promise<string[]> {
    await db.query("select tock.enqueue('work', $1)", [JSON.stringify(Array(LEASES).fill({}))]);
    const all: string[] = [];
    while (all.length < LEASES) {
      const { rows } = await db.query(
        "select lease from tock.claim(p_queue => 'work', p_limit => 1, p_lease_seconds => 600, p_alone => true)",
      );
      all.push(rows[0].lease);
    }
    return all;
  }

  async function measured(
    name: string,
    held: string[],
    more: Record<string, string>,
  ): Promise<void> {
    const served = await serveBundle(code, { DATABASE_URL, ...more });
    const post = async (path: string, body: string) => {
      const init = { method: 'POST', headers, body };
      const reply = await fetch(`${served.url}${path}`, init);
      await reply.text();
      return reply;
    };
    while (!(await fetch(`${served.url}/v1/health`).catch(() => null))?.ok) {
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    const until = performance.now() + seconds * 1000;
    const counts = { taken: 0, turned: 0, failed: 0 };
    const flood = async () => {
      while (performance.now() < until) {
        const reply = await post('/v1/queues/flood/tasks', '{"payload": 1}').catch(() => null);
        if (reply?.status === 201) counts.taken++;
        else if (reply?.status === 503) {
          counts.turned++;
          const ms = Number(reply.headers.get('retry-after')) * 1000 * (1 + Math.random() / 5);
          await new Promise((resolve) => setTimeout(resolve, ms));
        } else counts.failed++;
      }
    };
    const times: number[] = [];
    const complete = async () => {
      while (performance.now() < until) {
        const started = performance.now();
        const reply = await post(`/v1/leases/${held.pop()}/complete`, '{}').catch(() => null);
        if (reply?.status === 200) times.push(performance.now() - started);
        else counts.failed++;
      }
    };
    const enqueueing = Array.from({ length: enqueuers }, flood);
    await Promise.all([...enqueueing, ...Array.from({ length: completers }, complete)]);
    await served.stop();
    const sorted = times.toSorted((a, b) => a - b);
    const at = (share: number) => (sorted[Math.floor(sorted.length * share)] ?? 0).toFixed(0);
    console.log(
      `${name.padEnd(18)} completions ${(times.length / seconds).toFixed(0).padStart(4)}/s, median ${at(0.5).padStart(4)} ms, p99 ${at(0.99).padStart(5)} ms;` +
        ` enqueues ${(counts.taken / seconds).toFixed(0).padStart(5)}/s, turned away ${(counts.turned / seconds).toFixed(0)}/s, failed ${counts.failed}`,
    );
  }

  await db.query(`create function slow() returns trigger language plpgsql as $$
    begin perform pg_sleep(0.1); return new; end $$`);
  const slow =
    'create trigger slow before insert on tock.runs for each row execute function slow()';
  for (const [speed, begin, end] of [
    ['fast', 'select 1', 'select 1'],
    ['slow', slow, 'drop trigger slow on tock.runs'],
  ] as const) {
    const round = async (name: string, more: Record<string, string>) => {
      const held = await leases();
      await db.query(begin);
      await measured(`${speed}, ${name}`, held, more);
      await db.query(end);
    };
    await round('neither', unbounded);
    await round('places', places);
    await round('a pool', { ...unbounded, ...own });
    await round('both', { ...places, ...own });
  }
  await db.end();
} finally {
  await made.close();
}
