import { expect, test } from 'vitest';
import {
  finishLoad,
  type Load,
  newLoad,
  retryTransient,
  startClaimers,
  startMaintenance,
  startWriters,
} from '../../load.ts';
import { client, databasePerFile, db } from '../../test_database.ts';
import { rows, value } from '../../verbs.ts';

databasePerFile();

const round = 'select tock.collect_metrics(p_limit => 40, p_seconds => 0)';

async function counting(load: Load): Promise<void> {
  const on = await load.connect();
  while (load.going) await on.query(round);
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

test('every run is counted once under load', async () => {
  const load = await newLoad(client, db, 'load', 4);
  const all = [
    ...startWriters(load, 5),
    ...startClaimers(load, 4),
    ...startMaintenance(load),
    counting(load),
  ];
  await retryTransient(load, all, () => load.accepted.size >= 800);
  await finishLoad(client, load);
  // The last round may have passed runs before finish() ended them. A round that began later counts all.
  const ended = await value(client, 'select clock_timestamp()::text');
  const counted = 'select coalesce(finished_at > $1, false) from tock.metrics_progress';
  do await client.query(round);
  while (!(await value(client, counted, [ended])));
  const [expected] = await rows(client, stored);
  expect(expected).toMatchObject({ enqueued: load.accepted.size + 1 });
  for (const of of [
    'totals',
    "queue_metrics where queue <> '*'",
    "queue_metrics where queue = '*'",
  ])
    expect(await rows(client, `select ${columns} from tock.${of}`), of).toEqual([expected]);
  expect(await rows(client, 'select queue, ready::int from tock.totals order by 1')).toEqual([
    { queue: 'load', ready: 0 },
    { queue: 'other', ready: 1 },
  ]);
  expect(await rows(client, 'select * from tock.metrics_open_leases')).toEqual([]);
});
