import pg from 'pg';
import { softly } from '../../scripts/stack/say.ts';
import { prepare, testCluster } from '../../test/cluster.ts';

/** How long a task of priority 9 waits while more of priority 0 come than workers can do, claiming by ones. */
const seconds = Number(process.argv[2] ?? 10);
const made = await testCluster('starved', softly);
const url = new URL(made.cluster.url('starved'));
url.username = 'tock';
url.password = made.passwords.owner;
const clients: pg.Client[] = [];

async function connect(): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url.href });
  await client.connect();
  clients.push(client);
  return client;
}

const many = (count: number, priority: number) =>
  JSON.stringify(Array.from({ length: count }, () => ({ priority })));

async function starve(workers: number): Promise<void> {
  const queue = `workers-${workers}`;
  const sender = await connect();
  const all = await Promise.all(Array.from({ length: workers }, connect));
  const send = (count: number, priority: number) =>
    sender.query('select tock.enqueue($1, $2)', [queue, many(count, priority)]);
  await send(5000, 0);
  await send(1000, 9);
  const start = performance.now();
  const end = start + seconds * 1000;
  const claimed: Record<number, number> = { 0: 0, 9: 0 };
  let first = 0;
  const work = async (client: pg.Client) => {
    while (performance.now() < end) {
      const text = 'select lease, priority from tock.claim(p_queue => $1, p_alone => true)';
      const { rows } = await client.query(text, [queue]);
      for (const { lease, priority } of rows) {
        claimed[priority] = (claimed[priority] ?? 0) + 1;
        if (priority === 9) first ||= performance.now() - start;
        await client.query('select tock.complete($1)', [lease]);
      }
    }
  };
  const keepUp = async () => {
    while (performance.now() < end) {
      await send(100, 0);
      await new Promise((wake) => setTimeout(wake, 20));
    }
  };
  await Promise.all([keepUp(), ...all.map(work)]);
  const waited = first ? `the first after ${first.toFixed(0)} ms` : `not one in ${seconds} s`;
  console.log(`${workers} workers: ${claimed[0]} of priority 0; ${claimed[9]} of 9, ${waited}`);
}

try {
  await prepare(url.href, made.passwords.edge);
  for (const workers of [1, 2, 8]) await starve(workers);
} finally {
  for (const client of clients) await client.end();
  await made.close();
}
