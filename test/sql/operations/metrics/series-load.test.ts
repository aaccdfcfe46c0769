import { expect, test } from 'vitest';
import { createSegments } from '../../kernel/segment/segments.ts';
import {
  type Load,
  retryTransient,
  seededRandom,
  startClaimers,
  startMaintenance,
  startWriters,
} from '../../load.ts';
import { client, databasePerFile, db } from '../../test_database.ts';
import {
  claim,
  complete,
  enqueue,
  leaseOf,
  makeDue,
  promote,
  reap,
  rows,
  value,
} from '../../verbs.ts';

databasePerFile();

const round = 'select tock.collect_metrics(p_limit => 40, p_seconds => 0)';

async function counting(load: Load): Promise<void> {
  const on = await load.connect();
  while (load.going) await on.query(round);
}

async function finish(): Promise<void> {
  for (let turn = 0; turn < 200; turn++) {
    await client.query(
      "update tock.leases set leased_until = now() - interval '1 s' where closed_at is null",
    );
    while ((await reap(client)) > 0);
    await makeDue(client, 'load');
    while ((await promote(client)) > 0);
    const runs = await claim(client, 'load', { limit: 1000 });
    if (runs.length === 0) return;
    await complete(client, leaseOf(runs));
  }
  throw new Error('Tasks were left after 200 rounds.');
}

/** The same sums, computed by one query over the stored runs. */
const stored = `
  with leased as (
    select l.*, r.position, e.state, e.next_id
    from tock.leases l
    join tock.runs r on r.stream = l.stream and r.position > l.after_position and r.position <= l.last_position
      and r.position <> all (coalesce(l.skips, '{}'))
    left join tock.results e on e.stream = r.stream and e.position = r.position
    where l.runs > 0)
  select (select count(distinct coalesce(r.task_id, r.position << 20 | r.stream))::int from tock.runs r) as enqueued,
    count(*)::int as started,
    (select sum(l.skipped)::int from tock.leases l) as passed,
    count(*) filter (where l.state = 'done' or l.state is null)::int as done,
    count(*) filter (where l.state = 'failed')::int as failed,
    count(*) filter (where l.state = 'lost')::int as lost,
    count(*) filter (where l.state in ('failed', 'lost') and l.next_id is null)::int as dead,
    count(*) filter (where l.state in ('cancelled', 'expired'))::int as cancelled,
    count(*) filter (where l.state = 'superseded')::int as returned
  from leased l`;

const columns = 'enqueued started passed done failed lost dead cancelled returned'
  .split(' ')
  .map((name) => `sum(${name})::int as ${name}`);

const sums = (of: string) => `${columns} from ${of}`;

test('every run is counted once under load', async () => {
  const load: Load = {
    queue: 'load',
    random: seededRandom(Number(process.env.TOCK_TEST_SEED ?? Date.now() % 1_000_000)),
    going: true,
    accepted: new Set(),
    refused: new Map(),
    complete: () => {},
    connect: () => db.connect(),
  };
  await client.query(`select tock.put_queue('load', '{"max_attempts": 4, "max_lost": 1000,
    "backoff_base_seconds": 0.05, "backoff_cap_seconds": 0.3, "lanes": 3}')`);
  await enqueue(client, 'other', [{}]);
  await client.query(
    "select setval('tock.positions', (select max(end_position) - 2000 from tock.segments))",
  );
  await createSegments(client, 'p_ahead => 3, p_width => 5000');
  const all = [
    ...startWriters(load, 5),
    ...startClaimers(load, 4),
    ...startMaintenance(load),
    counting(load),
  ];
  await retryTransient(load, all, () => load.accepted.size >= 800);
  await finish();
  // The last round may have passed runs before finish() ended them. A round that began later counts all.
  const ended = await value(client, 'select clock_timestamp()::text');
  const counted = 'select coalesce(finished_at > $1, false) from tock.metrics_progress';
  do await client.query(round);
  while (!(await value(client, counted, [ended])));
  const [expected] = await rows(client, stored);
  expect(expected).toMatchObject({ enqueued: load.accepted.size + 1 });
  expect(await rows(client, `select ${sums('tock.totals')}`)).toEqual([expected]);
  expect(await rows(client, `select ${sums("tock.queue_metrics where queue <> '*'")}`)).toEqual([
    expected,
  ]);
  expect(await rows(client, `select ${sums("tock.queue_metrics where queue = '*'")}`)).toEqual([
    expected,
  ]);
  expect(await rows(client, 'select queue, ready::int from tock.totals order by 1')).toEqual([
    { queue: 'load', ready: 0 },
    { queue: 'other', ready: 1 },
  ]);
  expect(await rows(client, 'select * from tock.metrics_open_leases')).toEqual([]);
});
