import type pg from 'pg';
import { expect, test } from 'vitest';
import { cancel, change } from '../kernel/change/changes.ts';
import {
  closeSegments,
  enqueueAndComplete,
  moveNearSegmentEnd,
  startNextSegment,
} from '../kernel/segment/segments.ts';
import { seededRandom } from '../load.ts';
import { client, databasePerTest, db } from '../test_database.ts';
import {
  claim,
  complete,
  enqueue,
  expire,
  fail,
  leaseOf,
  makeDue,
  numberedTasks,
  promote,
  reap,
  release,
  rows,
} from '../verbs.ts';

databasePerTest();

/** The same counts, from each single run. */
const plainly = `
  select q.name as queue,
    count(r.position) filter (where l.stream is null and not r.marked)::int as ready,
    count(r.position) filter (where l.closed_at is null and l.stream is not null
      and r.position <> all (coalesce(l.skips, '{}')) and l.runs > 0 and e.position is null)::int as running,
    (select count(*)::int from tock.waiting w where w.queue = q.name) as waiting,
    count(r.position) filter (where e.state in ('failed', 'lost') and e.next_id is null)::int as dead
  from tock.queues q
  left join tock.streams s on s.queue = q.name
  left join lateral (
    select r.*, exists (
      select from tock.run_overrides m where m.stream = r.stream and m.position = r.position and m.kind in ('cancelled', 'superseded')) as marked
    from tock.runs r where r.stream = s.number) r on true
  left join tock.leases l on l.stream = r.stream and l.after_position < r.position and l.last_position >= r.position
  left join tock.results e on e.stream = r.stream and e.position = r.position
  where q.name <> '*' group by q.name order by q.name`;

type Stats = { queue: string; ready: number; running: number; waiting: number; dead: number };
const columns = 'queue, ready::int, running::int, waiting::int, dead::int';
const queueStats = (on: pg.Client, queue: string | null = null) =>
  rows<Stats>(on, `select ${columns} from tock.queue_stats($1)`, [queue]);

async function agree(when: string, on = client): Promise<void> {
  const stats = await queueStats(on);
  expect(stats, when).toEqual(await rows(on, plainly));
  const [ownStats] = await queueStats(on, 'a');
  if (ownStats) expect(ownStats, when).toEqual(stats[0]);
}

/** Takes random steps, and compares the counts after each. */
async function walk(seed: number, steps: number): Promise<void> {
  const roll = seededRandom(seed);
  const queue = () => (roll(2) ? 'a' : 'b');
  const ids: string[] = [];
  const open: { lease: string; ids: string[] }[] = [];
  const some = (n: number) => Array.from({ length: n }, () => ids[roll(ids.length)] as string);
  const put = async (options: object = {}) => {
    const tasks = numberedTasks(1 + roll(8), 0, { priority: roll(3), ...options });
    ids.push(...(await enqueue(client, queue(), tasks)));
  };
  const take = async () => {
    const runs = await claim(client, queue(), { limit: 1 + roll(9) });
    if (runs[0]) open.push({ lease: runs[0].lease, ids: runs.map(({ id }) => id) });
  };
  /** Does something with the oldest open lease, if there is one. */
  const on = async (act: (lease: string, ids: string[]) => Promise<unknown>) =>
    open[0] && act(open[0].lease, open[0].ids);
  const failures = [{ fatal: true }, { retry_in_seconds: 0 }, { retry_in_seconds: 900 }];
  const changed = async (act: (some: string[]) => Promise<unknown>, count: number) =>
    ids.length && act(some(count));
  const ways: Record<string, () => Promise<unknown>> = {
    enqueue: put,
    'enqueue more': put,
    'enqueue later': () => put({ delay_seconds: 500 }),
    replace: () => enqueue(client, 'a', [{ unique_key: 'k', on_conflict: 'replace' }]),
    claim: take,
    complete: () => complete(client, open.pop()?.lease ?? crypto.randomUUID()),
    'complete some': () => on((lease, of) => complete(client, lease, [{ id: of[0], result: 1 }])),
    'fail some': () =>
      on((lease, of) => fail(client, lease, [{ id: of.at(-1), ...failures[roll(3)] }])),
    release: () => on((lease, of) => release(client, lease, [of[1] as string])),
    lose: () => on(() => expire(client, open.shift()?.lease as string)),
    reap: () => reap(client),
    cancel: () => changed((of) => cancel(client, of), 3),
    change: () => changed((of) => change(client, of, { priority: roll(9) }), 3),
    'put off': () => changed((of) => change(client, of, { delay_seconds: 700 }), 2),
    due: () => makeDue(client, queue()),
    promote: () => promote(client),
    count: () => client.query('select tock.collect_metrics($1, 0)', [1 + roll(20)]),
    'count all': () => client.query('select tock.collect_metrics()'),
    purge: async () =>
      roll(6) || client.query('select tock.purge_queue($1, $2)', [queue(), 'ready']),
    near: async () => roll(4) || moveNearSegmentEnd(client, 5),
    pass: async () => roll(4) || startNextSegment(client),
    settle: () => closeSegments(client),
  };
  const names = Object.keys(ways);
  const done: string[] = [];
  for (let step = 0; step < steps; step++) {
    const name = names[roll(names.length)] as string;
    done.push(name);
    await ways[name]?.();
    await agree(`seed ${seed}, ${step}: ${done.slice(-12).join(', ')}`);
  }
}

test('the counts equal those of a plain query after any steps, whenever metrics were collected', async () => {
  await walk(Number(process.env.TOCK_STATS_SEED ?? 5), 50);
});

test('the counts are right if a segment is closed between two rounds of collect_metrics', async () => {
  await enqueueAndComplete(client, 'other', 1);
  await enqueue(client, 'a', numberedTasks(5));
  await client.query('select tock.collect_metrics()');
  await complete(client, leaseOf(await claim(client, 'a', { limit: 9 })));
  await startNextSegment(client);
  await closeSegments(client);
  await enqueue(client, 'a', numberedTasks(1));
  await agree('closed');
  await client.query('select tock.collect_metrics()');
  await agree('counted');
});

test('a transaction counts its own changes, and other sessions count committed ones', async () => {
  await enqueue(client, 'a', numberedTasks(3));
  await client.query('select tock.collect_metrics()');
  const other = await db.connect();
  await other.query('begin');
  await enqueue(other, 'a', numberedTasks(4));
  await claim(other, 'a', { limit: 2 });
  await agree('within', other);
  await agree('outside');
  await client.query('select tock.collect_metrics()');
  await agree('outside, counted');
  await agree('within, counted', other);
  await other.query('rollback');
  await agree('undone');
  await other.query('begin');
  await enqueue(other, 'a', numberedTasks(4));
  await client.query('select tock.collect_metrics()');
  await other.query('commit');
  await agree('done');
});

test('a task that changes its state during queue_stats is in exactly one of the counts', async () => {
  const [id = ''] = await enqueue(client, 'a', numberedTasks(1));
  const other = await db.connect();
  let ended = false;
  const count = async () => {
    const seen = new Set<string>();
    for (let n = 0; n < 500 || seen.size < 3; n++) {
      const [row] = await queueStats(other);
      const { ready, running, waiting } = row as Stats;
      if (ready + running + waiting !== 1) return { ready, running, waiting };
      seen.add(`${ready}${running}${waiting}`);
    }
    return 'always one';
  };
  const counted = count().finally(() => {
    ended = true;
  });
  while (!ended) {
    await release(client, leaseOf(await claim(client, 'a')));
    await change(client, [id], { delay_seconds: 1000 });
    await makeDue(client, 'a');
    await promote(client);
  }
  expect(await counted).toBe('always one');
});
