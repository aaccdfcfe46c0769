import pg from 'pg';
import { migrate } from '../../migrate/migrate.ts';
import { makeDatabase } from '../../scripts/stack/roles.ts';
import { softly } from '../../scripts/stack/say.ts';
import { testCluster } from '../../test/cluster.ts';

/** What a tick takes with 100,000 schedules of which some are due, in milliseconds: the median and the worst of 20. */
const made = await testCluster('cron_home', softly);
const { cluster, passwords } = made;

const count = 100_000;
const rounds = 20;

async function open(): Promise<pg.Client> {
  await makeDatabase(cluster.url(), 'schedules');
  const url = new URL(cluster.url('schedules'));
  url.username = 'tock';
  url.password = passwords.owner;
  await migrate(url.href, {});
  const client = new pg.Client({ connectionString: url.href });
  await client.connect();
  return client;
}

async function took(client: pg.Client, statement: string): Promise<number> {
  const started = performance.now();
  await client.query(statement);
  return performance.now() - started;
}

try {
  const client = await open();
  const cron = `'{"queue": "q", "cron": "0 3 * * *", "time_zone": "Europe/Berlin", "payload": {"kind": "nightly"}}'`;
  await client.query(
    `select count(tock.put_schedule('s' || n, ${cron}) is not null) from generate_series(1, ${count}) n`,
  );
  await client.query('vacuum analyze');
  await client.query('select tock.tick()');
  for (const due of [0, 1, 100, 1000]) {
    const taken: number[] = [];
    for (let round = 0; round < rounds; round++) {
      await client.query(
        `update tock.fires set due_at = clock_timestamp(), fire_at = clock_timestamp()
         where (schedule, turn) in (
           select schedule, turn from tock.fires where due_at > now() + interval '1 minute' order by random() limit ${due})`,
      );
      taken.push(await took(client, 'select tock.tick()'));
    }
    const sorted = taken.toSorted((a, b) => a - b);
    const [half, worst] = [sorted[rounds >> 1], sorted.at(-1)].map((ms) => ms?.toFixed(1));
    console.log(`${String(due).padStart(5)} of ${count} due: ${half} ms, at most ${worst} ms`);
  }
  await client.end();
} finally {
  await made.close();
}
