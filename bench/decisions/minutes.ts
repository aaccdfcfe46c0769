import pg from 'pg';
import { migrate } from '../../migrate/migrate.ts';
import { makeDatabase } from '../../scripts/stack/roles.ts';
import { softly } from '../../scripts/stack/say.ts';
import { testCluster } from '../../test/cluster.ts';
import { cpuSeconds } from '../cluster.ts';

/**
 * What a round of the duty minutes takes after 10,000 runs, claimed one by one or by the hundred, and after nothing;
 * with a backlog of as many tasks as are asked for, and with 2,000 queues what the overview and the metrics take.
 * Usage: npm run measure:minutes [-- <tasks>]
 */
const tasks = Number(process.argv[2] ?? 5_000_000);
const made = await testCluster('cron_home', softly);
const { cluster, passwords } = made;

async function open(): Promise<pg.Client> {
  await makeDatabase(cluster.url(), 'minutes');
  const url = new URL(cluster.url('minutes'));
  url.username = 'tock';
  url.password = passwords.owner;
  await migrate(url.href, {});
  const client = new pg.Client({ connectionString: url.href });
  await client.connect();
  return client;
}

const client = await open();

async function measured(name: string, statement: string): Promise<void> {
  const cpu = await cpuSeconds(made);
  const started = performance.now();
  const { rows } = await client.query(statement);
  const took = performance.now() - started;
  const used = ((await cpuSeconds(made)) - cpu) * 1000;
  const [first] = Object.values(rows[0] ?? {}).map((value) => `${value}`.slice(0, 9));
  console.log(
    `${name.padEnd(44)} ${took.toFixed(1).padStart(9)} ms, CPU ${used.toFixed(0).padStart(6)} ms (${first})`,
  );
}

const round = (name: string) => measured(name, 'select tock.minutes(p_seconds => 60)');

/** 10,000 runs from the enqueue to their end, `size` a call. */
async function work(queue: string, size: number): Promise<void> {
  for (let call = 0; call < 10_000 / size; call++) {
    await client.query(
      "select tock.enqueue($1, (select jsonb_agg('{}'::jsonb) from generate_series(1, $2)))",
      [queue, size],
    );
    const { rows } = await client.query(
      'select lease from tock.claim($1, p_limit => $2, p_alone => true)',
      [queue, size],
    );
    await client.query('select tock.complete($1)', [rows[0].lease]);
  }
}

async function rounds(): Promise<void> {
  await round('nothing has happened');
  await work('singles', 1);
  await round('10,000 runs, one by one');
  await work('hundreds', 100);
  await round('10,000 runs, by the hundred');
  await round('nothing has happened');
}

/** As they would lie there: 80 streams of one queue. */
async function backlog(): Promise<void> {
  await client.query("select tock.enqueue('backlog', '[{}]')");
  await client.query(
    `insert into tock.streams (number, queue, priority, lane, slot, start_after)
     select nextval('tock.stream_numbers'), 'backlog', 5, n % 8, 100 + n / 8, nextval('tock.positions') from generate_series(0, 79) n`,
  );
  await client.query(
    `insert into tock.runs (stream, position, bytes, payload)
     select (select min(number) from tock.streams where slot >= 100) + n % 80, nextval('tock.positions'), 20, '{"kind": "mail"}'
     from generate_series(1, $1::integer) n`,
    [tasks],
  );
  await client.query('analyze tock.runs');
}

async function queues(count: number): Promise<void> {
  await client.query(
    `select count(tock.put_queue('q' || n, '{}') is not null) from generate_series(1, ${count}) n`,
  );
  await client.query(
    `insert into tock.minutes (queue, at, width_seconds, enqueued, started, done, ready, wait, run)
     select 'q' || n, date_trunc('minute', now()) - m * interval '1 minute', 60, 9, 9, 9, 9,
       array_fill(1::bigint, array[17]), array_fill(1::bigint, array[17])
     from generate_series(0, 60) m, generate_series(1, ${count}) n`,
  );
  await client.query(
    `insert into tock.totals (queue, ready, enqueued, wait, run)
     select 'q' || n, 9, 9, array_fill(1::bigint, array[17]), array_fill(1::bigint, array[17]) from generate_series(1, ${count}) n`,
  );
  await client.query('analyze');
}

try {
  await rounds();
  await backlog();
  await round(`${tasks} tasks have become ready`);
  await rounds();
  await queues(2000);
  await round('2,000 queues');
  for (const verb of ['overview', 'metrics', 'series']) {
    for (const time of ['first', 'again'])
      await measured(
        `${verb}, 2,000 queues busy each minute, ${time}`,
        `select count(v) from tock.${verb}() v`,
      );
  }
} finally {
  await client.end();
  await made.close();
}
