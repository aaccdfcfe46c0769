import pg from 'pg';
import { softly } from '../../scripts/stack/say.ts';
import { prepare, testCluster } from '../../test/cluster.ts';
import { grow } from './grown.ts';
import { pauses } from './pauses.ts';

/**
 * Whether calls grow slower with the number of epochs: tasks a second over 4 connections, in windows
 * that take turns, alone and while pg_dump runs in a loop; then enqueue's pauses while epochs are made
 * and dropped. usage: npm run measure:epochs [seconds a window] [rounds]
 */
const seconds = Number(process.argv[2] ?? 0.8);
const rounds = Number(process.argv[3] ?? 5);
const counts = [4, 24, 300];

type Call = (client: pg.Client) => Promise<number>;

const enqueue =
  (count: number): Call =>
  async (client) => {
    const text = JSON.stringify(Array.from({ length: count }, () => ({ payload: { n: 1 } })));
    const values = ['m', text];
    await client.query({ name: `e${count}`, text: 'select tock.enqueue($1, $2)', values });
    return count;
  };

const cycle =
  (count: number): Call =>
  async (client) => {
    const { rows } = await client.query({
      name: `c${count}`,
      text: 'select lease, id, payload from tock.claim(p_queue => $1, p_limit => $2, p_alone => true)',
      values: ['m', count],
    });
    if (rows.length === 0) return 0;
    const values = [rows[0].lease];
    await client.query({ name: 'd', text: 'select * from tock.complete($1)', values });
    return rows.length;
  };

const cases: [name: string, call: Call][] = [
  ['enqueue 1', enqueue(1)],
  ['enqueue 100', enqueue(100)],
  ['claim + complete 1', cycle(1)],
  ['claim + complete 100', cycle(100)],
];

async function rate(clients: pg.Client[], call: Call, time = seconds): Promise<number> {
  const until = performance.now() + time * 1000;
  const each = async (client: pg.Client) => {
    let done = 0;
    while (performance.now() < until) done += await call(client);
    return done;
  };
  const done = (await Promise.all(clients.map(each))).reduce((sum, count) => sum + count, 0);
  if (done === 0) throw new Error('Nothing was left to claim: the window ran dry.');
  return done / time;
}

const median = (values: number[]) => values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0;

const made = await testCluster('measure', softly);
const { cluster, passwords } = made;
const clients = new Map<number, pg.Client[]>();
const urlOf = (name: string) =>
  Object.assign(new URL(cluster.url(name)), { username: 'tock', password: passwords.owner }).href;

async function open(count: number): Promise<void> {
  const name = `epochs${count}`;
  const admin = new pg.Client({ connectionString: cluster.url() });
  await admin.connect();
  await admin.query(`create database ${name} owner tock`);
  await admin.end();
  await prepare(urlOf(name), passwords.edge);
  const all = Array.from({ length: 4 }, () => new pg.Client({ connectionString: urlOf(name) }));
  for (const client of all) await client.connect();
  clients.set(count, all);
  console.log(await grow(all[0] as pg.Client, count));
  await rate(all, enqueue(100), 1);
  await rate(all, cycle(100), 0.3);
  await all[0]?.query('analyze');
}

/** pg_dump of a database over and over, until told to stop; says how many went through. */
function dumping(count: number) {
  let going = true;
  let dumps = 0;
  const loop = (async () => {
    while (going) {
      const to = `--file=/dev/null`;
      await cluster.host.run([`${cluster.host.bin}/pg_dump`, to, cluster.url(`epochs${count}`)]);
      dumps++;
    }
  })();
  return async () => {
    going = false;
    await loop;
    return dumps;
  };
}

async function table(title: string, dump: boolean): Promise<void> {
  const seen = new Map<string, number[]>();
  for (let round = 0; round < (dump ? Math.ceil(rounds / 2) : rounds); round++) {
    for (const count of counts) {
      const all = clients.get(count) ?? [];
      await rate(all, enqueue(100), dump ? 0.5 : seconds);
      const stop = dump ? dumping(count) : async () => 0;
      for (const [name, call] of cases) {
        const key = `${name} ${count}`;
        seen.set(key, [...(seen.get(key) ?? []), await rate(all, call)]);
      }
      const dumps = await stop();
      if (dump) seen.set(`dumps ${count}`, [...(seen.get(`dumps ${count}`) ?? []), dumps]);
    }
  }
  const first = counts[0];
  console.log(
    `\n${title}: tasks a second${counts.map((n) => `${n} epochs`.padStart(12)).join('')}`,
  );
  for (const [name] of cases) {
    const at = (count: number) => median(seen.get(`${name} ${count}`) ?? []);
    const rates = counts.map((count) => at(count).toFixed(0).padStart(12)).join('');
    const ratios = counts.slice(1).map((count) => (at(count) / at(first as number)).toFixed(2));
    console.log(`${name.padEnd(title.length + 16)}${rates}   ratios ${ratios.join(' ')}`);
  }
  if (dump)
    console.log(`dumps a round: ${counts.map((n) => median(seen.get(`dumps ${n}`) ?? []))}`);
}

try {
  for (const count of counts) await open(count);
  await table('alone', false);
  await table('pg_dump in a loop', true);
  await pauses(urlOf('epochs24'));
} finally {
  for (const all of clients.values()) for (const client of all) await client.end();
  await made.close();
}
