import pg from 'pg';
import { softly } from '../../scripts/stack/say.ts';
import { prepare, testCluster } from '../../test/cluster.ts';

/** A million tasks cancelled in a row: what cancelling costs a call, and each claim that passes some of them. */
const total = Number(process.argv[2] ?? 1_000_000);
const made = await testCluster('cancelled', softly);
const url = new URL(made.cluster.url('cancelled'));
url.username = 'tock';
url.password = made.passwords.owner;
const client = new pg.Client({ connectionString: url.href });

async function timed<T>(call: () => Promise<T>): Promise<[T, number]> {
  const start = performance.now();
  const answer = await call();
  return [answer, performance.now() - start];
}

async function value<T>(text: string, values: unknown[] = []): Promise<T> {
  const { rows } = await client.query(text, values);
  return Object.values(rows[0])[0] as T;
}

function told(what: string, times: number[]): void {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (share: number) => (sorted[Math.floor(share * (sorted.length - 1))] ?? 0).toFixed(0);
  const all = `${what}: ${times.length} calls, median ${at(0.5)} ms, worst ${at(1)} ms`;
  console.log(all);
}

try {
  await prepare(url.href, made.passwords.edge);
  await client.connect();
  const tasks = JSON.stringify(Array.from({ length: 100_000 }, (_, n) => ({ payload: n })));
  const ids: string[] = [];
  const [enqueues, cancels, passes]: [number[], number[], number[]] = [[], [], []];
  while (ids.length < total) {
    const [some, took] = await timed(() =>
      value<string[]>("select tock.enqueue('c', $1)", [tasks]),
    );
    ids.push(...some);
    enqueues.push(took);
  }
  told('enqueue of 100,000', enqueues);
  for (let n = 0; n < ids.length; n += 10_000) {
    const some = ids.slice(n, n + 10_000);
    const [, took] = await timed(() =>
      client.query('select count(*) from tock.cancel($1)', [some]),
    );
    cancels.push(took);
  }
  told('cancel of 10,000', cancels);
  const behind = await value<string>("select tock.enqueue_task('c', '1', p_priority => 9)");
  const text = `with claimed as materialized (select min(c.id) as id from tock.claim(p_queue => 'c', p_alone => true) c)
    select c.id, (select s.state from tock.claim_state('{c}') s where c.id is null) as answer from claimed c`;
  for (;;) {
    const [{ rows }, took] = await timed(() => client.query(text));
    if (rows[0].answer !== 'passing') {
      console.log(
        `then: ${rows[0].answer}, ${rows[0].id === behind ? 'the one behind them' : rows[0].id}`,
      );
      break;
    }
    passes.push(took);
  }
  told('claim that passes 10,000', passes);
  const [, empty] = await timed(() => client.query(text));
  console.log(`an empty claim after them: ${empty.toFixed(1)} ms`);
  const size = await value("select pg_size_pretty(pg_total_relation_size('tock.marks_1'))");
  console.log(`marks_1 is ${size}`);
} finally {
  await client.end();
  await made.close();
}
