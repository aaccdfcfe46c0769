import type pg from 'pg';
import { brokenSentences } from '../../test/sql/audit.ts';
import { pause } from './clock.ts';
import { told } from './ledger.ts';
import { look } from './observer.ts';
import { nextEpoch } from './others.ts';
import { type Ground, met, queue, type Soak } from './soak.ts';

type Counts = { ready: string; running: string; waiting: string };

/** Until everything has ended; what doesn't within so long is stuck. */
export async function untilAllEnded(soak: Soak, on: pg.Client, seconds: number): Promise<void> {
  const { ledger } = soak;
  const end = performance.now() + seconds * 1000;
  for (;;) {
    await on.query('select tock.tick()');
    const all = [...ledger.open];
    for (let at = 0; at < all.length; at += 2000) await look(soak, on, all.slice(at, at + 2000));
    const { rows } = await on.query<Counts>(
      'select ready, running, waiting from tock.queue_stats($1)',
      [queue],
    );
    const { ready, running, waiting } = rows[0] ?? { ready: '0', running: '0', waiting: '0' };
    const left = Number(ready) + Number(running) + Number(waiting);
    if (ledger.open.size === 0 && left === 0) return;
    if (performance.now() > end) {
      ledger.differ(
        'unfinished',
        0,
        `${JSON.stringify(rows)}, of the accepted ${ledger.open.size}`,
      );
      for (const n of [...ledger.open].slice(0, 20)) ledger.differ('stuck', n, ledger.idOf(n));
      return;
    }
    await pause(500);
  }
}

/** Ends the epoch in use, so that every epoch with tasks in it is settled and audited. */
export async function auditAll(soak: Ground, on: pg.Client): Promise<void> {
  const { ledger } = soak;
  await nextEpoch(soak, on);
  await on.query("select count(nextval('tock.positions')) from generate_series(1, 400)");
  for (let round = 0; round < 60; round++) {
    for (const duty of ['rest', 'rotate', 'audit', 'retain']) {
      // pg_cron's job may be at the same one, or somebody hold a lock: then the next round has it.
      await on.query(`select tock.${duty}()`).catch((error) => met(ledger, duty, error));
    }
    const { rows } = await on.query(
      `select e.number from tock.epochs e join tock.positions s on e.end_position <= s.last_value
       where e.audited_at is null`,
    );
    if (rows.length === 0) return;
    await pause(250);
  }
  const { rows } = await on.query('select to_jsonb(e) as e from tock.epochs e order by e.number');
  ledger.differ('an epoch is not settled and audited', 0, JSON.stringify(rows));
}

/** Each sentence compares every run with every lease of its stream: more would take many minutes. */
const sentencesTake = 100_000;

/** What is stored against what was told, and what must hold of any state. */
export async function account(soak: Soak, on: pg.Client): Promise<void> {
  const { ledger } = soak;
  const { rows: tasks } = await on.query<{ id: string; n: number }>(
    `select distinct coalesce(r.task_id, r.position << 20 | r.stream)::text as id, (r.payload ->> 'n')::integer as n
     from tock.runs r`,
  );
  const byNumber = new Map<number, string>();
  for (const { id, n } of tasks) {
    const other = byNumber.get(n);
    if (other) ledger.differ('stored twice', n, `as ${other} and as ${id}`);
    byNumber.set(n, id);
    if (ledger.is(n, told.undone)) ledger.differ('rolled back and stored', n, `as ${id}`);
    if (ledger.is(n, told.accepted) && ledger.idOf(n) !== id) {
      ledger.differ('stored under another id', n, `${id}, not ${ledger.idOf(n)}`);
    }
  }
  soak.say(`  ${tasks.length} tasks are still stored; each is asked for.`);
  const numbers = [...byNumber.keys()];
  for (let at = 0; at < numbers.length; at += 2000) {
    await judge(soak, on, numbers.slice(at, at + 2000), byNumber);
  }
  for (let n = 1; n < ledger.next(); n++) {
    if (ledger.is(n, told.accepted) && !ledger.is(n, told.done | told.ended)) {
      ledger.differ('lost', n, `accepted as ${ledger.idOf(n)}`);
    }
  }
  await dropHistory(soak, on, sentencesTake);
  const broken = Object.entries(await brokenSentences(on));
  for (const [sentence, count] of broken) {
    ledger.differ('a sentence of the audit does not hold', 0, `${sentence}: ${count}`);
  }
  if (broken.length > 0) await nameThem(soak, on);
  const { rows: reports } = await on.query(
    "select to_jsonb(r) as r from tock.reports r where r.detail ->> 'found' is distinct from 'new'",
  );
  for (const { r } of reports) ledger.differ('a report', 0, JSON.stringify(r));
  const { rows: duties } = await on.query(
    'select to_jsonb(d) as d from tock.duties d where d.failures > 0',
  );
  for (const { d } of duties) ledger.differ('a duty is failing', 0, JSON.stringify(d));
}

// How each run ended that is the last of what it belongs to.
const ends = `
  select (r.payload ->> 'n')::integer as n, array_agg(coalesce(e.state, l.outcome, 'cancelled') order by r.position) as ends
  from tock.runs r
  left join tock.results e using (stream, position)
  left join lateral (
    select k.* from tock.leases k where k.stream = r.stream and k.after_position < r.position
    order by k.after_position desc limit 1) l
    on l.last_position >= r.position and l.runs > 0 and r.position <> all (coalesce(l.skips, '{}'))
  where e.next_id is null and (e.state is not null or l.outcome = 'done' or (
    exists (select from tock.marks m
      where m.stream = r.stream and m.position = r.position and m.kind = 'cancelled' and m.changes is null)
    and not exists (select from tock.marks m
      where m.stream = r.stream and m.position = r.position and m.kind = 'superseded' and m.other_id > 0)))
  group by 1 having count(*) > 1`;

/** The sentences only count: which tasks they mean has to be found, and the state kept. */
async function nameThem(soak: Soak, on: pg.Client): Promise<void> {
  const { rows } = await on.query<{ n: number; ends: string[] }>(ends);
  for (const { n, ends } of rows) soak.ledger.differ('ended twice', n, ends.join(' and '));
  await soak.keepState();
}

async function judge(
  soak: Soak,
  on: pg.Client,
  numbers: number[],
  ids: Map<number, string>,
): Promise<void> {
  const { ledger } = soak;
  const ask = () =>
    on.query<{ n: number; state: string }>(
      `select n::integer as n, state from tock.whereabouts($1::bigint[])`,
      [numbers.map((n) => ids.get(n))],
    );
  // An epoch may go between the look at it and its statement.
  const { rows } = await ask().catch((error) => {
    if (error.code === '42P01') return ask();
    throw error;
  });
  for (const { n: place, state } of rows) {
    const n = numbers[place - 1] ?? 0;
    if (!/^(done|dead|cancelled)$/.test(state)) ledger.differ('not ended', n, `it is ${state}`);
    if (state === 'done' && !ledger.is(n, told.tried)) {
      ledger.differ('done, and nobody completed it', n, `as ${ids.get(n)}`);
    }
    if (ledger.is(n, told.done) && state !== 'done') {
      ledger.differ('a completion was undone', n, `it is ${state}`);
    }
  }
}

/**
 * As if their retention had passed: the oldest epochs go, one by one, as long as more runs than these are
 * stored, or one is missing between those that are left. (Where a later one went first, as a reader had kept
 * the earlier, the sentences would miss what its tasks became.)
 */
export async function dropHistory(soak: Ground, on: pg.Client, keep = -1): Promise<void> {
  const { ledger } = soak;
  await on.query('update tock.queues set retention_seconds = 315360000');
  for (;;) {
    const { rows } = await on.query(
      `select e.number, e.audited_at, (select count(*)::integer from tock.runs) as runs,
         (select max(a.number) - min(a.number) + 1 = count(*) from tock.epochs a) as whole
       from tock.epochs e join tock.positions s on e.end_position <= s.last_value order by e.number limit 1`,
    );
    const [oldest] = rows;
    if (!oldest || (oldest.runs <= keep && oldest.whole)) return;
    await on.query(
      "update tock.epochs set settled_at = now() - interval '11 years', drop_after = null where number = $1",
      [oldest.number],
    );
    for (let step = 0; step < 100; step++) {
      if ((await on.query('select tock.retain() as did')).rows[0].did === 0) break;
    }
    const { rowCount } = await on.query('select from tock.epochs where number = $1', [
      oldest.number,
    ]);
    if (rowCount) return ledger.differ('history is not dropped', 0, JSON.stringify(oldest));
    ledger.count('epochs dropped at the end');
  }
}
