import pg from 'pg';
import { softly } from '../scripts/stack/step_reporter.ts';
import { prepare, testCluster } from '../scripts/stack/test_cluster.ts';

/**
 * Measures whether calls stay fast while a transaction is held open. Compares the last tenth of each series of calls
 * with its first tenth, with and without that transaction. Usage: npm run measure:flat [-- <tasks>]
 */
const tasks = Number(process.argv[2] ?? 300_000);

type Client = pg.Client;
type Row = { name: string; times: number[] };

async function timed(on: Client, text: string): Promise<number> {
  const started = performance.now();
  await on.query(text);
  return performance.now() - started;
}

const mean = (values: number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;

function described({ name, times }: Row): string {
  const tenth = Math.max(1, Math.floor(times.length / 10));
  const first = mean(times.slice(0, tenth));
  const last = mean(times.slice(-tenth));
  const ratio = (last / first).toFixed(2);
  return `${name.padEnd(24)} first ${first.toFixed(2).padStart(7)} ms, last ${last.toFixed(2).padStart(7)} ms, ratio ${ratio}`;
}

/** Inserts delayed tasks that are all due, a millisecond apart. */
async function delayed(on: Client): Promise<void> {
  await on.query("select tock.put_queue('flat')");
  await on.query(
    `insert into tock.waiting (position, due_at, queue, priority, lane, bytes, payload)
     select nextval('tock.positions'), now() - interval '1 hour' + n * interval '1 ms', 'flat', 5, 0, 1, to_jsonb(n)
     from generate_series(1, $1::integer) n`,
    [tasks],
  );
  await on.query('analyze');
}

async function measured(on: Client, held: () => Promise<unknown>): Promise<Row[]> {
  const rows = (...names: string[]) => names.map((name): Row => ({ name, times: [] }));
  const [promote, look, wake, ask, retry, reap] = rows(
    'promote 500',
    'an empty claim',
    'next_wake_at',
    'retry_after_seconds',
    'fail 500 and promote',
    'claim 100 and reap',
  ) as [Row, Row, Row, Row, Row, Row];
  // A claim runs a maintenance job only if the job is late. With this time it is never late.
  const notLate =
    "update tock.maintenance_jobs set last_started_at = clock_timestamp() + interval '1 day'";
  await on.query(notLate);
  // Times claims, which promote: first without tasks to promote, then with all tasks due.
  const claims = async () => {
    for (let call = 0; call < 100; call++) {
      look.times.push(await timed(on, "select tock.claim('other', p_own_transaction => true)"));
    }
  };
  await claims();
  await delayed(on);
  await held();
  for (let call = 0; call < tasks / 500; call++) {
    promote.times.push(await timed(on, 'select tock.promote(500)'));
    wake.times.push(await timed(on, 'select tock.next_wake_at()'));
    ask.times.push(await timed(on, "select tock.claim_state('{flat}')"));
  }
  await claims();
  for (let call = 0; call < tasks / 3000; call++) {
    const { rows: runs } = await on.query("select lease from tock.claim('flat', p_limit => 500)");
    const text = `select tock.fail('${runs[0].lease}', '{"retry_in_seconds": 0.000001}')`;
    retry.times.push((await timed(on, text)) + (await timed(on, 'select tock.promote(1000)')));
  }
  for (let call = 0; call < tasks / 1000; call++) {
    const started = performance.now();
    await on.query("select tock.claim('flat', p_limit => 100, p_lease_seconds => 1)");
    await on.query('select tock.reap(p_sweep => false)');
    reap.times.push(performance.now() - started);
  }
  return [promote, look, wake, ask, retry, reap];
}

const made = await testCluster('flat', softly);
const url = new URL(made.cluster.url('flat'));
url.username = 'tock';
url.password = made.passwords.owner;
async function connect(): Promise<Client> {
  const client = new pg.Client({ connectionString: url.href });
  await client.connect();
  return client;
}
try {
  await prepare(url.href, made.passwords.edge);
  for (const held of [false, true]) {
    const on = await connect();
    const holder = await connect();
    const hold = async () => {
      if (!held) return;
      await holder.query('begin isolation level repeatable read');
      await holder.query('select count(*) from tock.waiting');
    };
    console.log(held ? 'Beside a transaction held open:' : 'Without one:');
    for (const row of await measured(on, hold)) console.log(`  ${described(row)}`);
    await holder.end();
    await on.query(
      'truncate tock.waiting, tock.runs, tock.leases, tock.results, tock.run_overrides, tock.steps, tock.promotions',
    );
    await on.end();
  }
} finally {
  await made.close();
}
