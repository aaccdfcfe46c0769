import type pg from 'pg';
import { brokenSentences } from '../../test/sql/audit.ts';
import { pause } from '../soak/clock.ts';
import type { Ledger } from './ledger.ts';
import { queues } from './queues.ts';
import type { Torture } from './torture.ts';

const depths = `select queue, ready, running, waiting from tock.queue_stats()
  where ready + running + waiting > 0 order by queue`;

/** Until nothing is unfinished; what isn't within so long is stuck. */
export async function untilDrained({ ledger }: Torture, on: pg.Client, seconds: number) {
  const end = performance.now() + seconds * 1000;
  for (;;) {
    await on.query('select tock.tick()');
    const { rows } = await on.query(depths);
    if (rows.length === 0) return;
    if (performance.now() > end) return ledger.differ('unfinished', '', JSON.stringify(rows));
    await pause(300);
  }
}

// What has waited for its children has its payload under `payload`.
const stored = `
  select distinct t.id::text, coalesce(t.payload ->> 'n', t.payload #>> '{payload,n}')::bigint as n from (
    select coalesce(r.task_id, r.position << 20 | r.stream) as id, r.payload from tock.runs r
    union all select coalesce(w.task_id, w.position << 20), w.payload from tock.waiting w) t
  where coalesce(t.payload ->> 'n', t.payload #>> '{payload,n}')::bigint > 0`;

/** Every task that was accepted is there, once; what nobody knows of is there wholly or not at all. */
async function count(ledger: Ledger, on: pg.Client): Promise<Map<string, number>> {
  const { rows } = await on.query<{ id: string; n: string }>(stored);
  const ids = new Map<string, number>();
  const byNumber = new Map<number, Set<string>>();
  for (const { id, n } of rows) {
    ids.set(id, Number(n));
    byNumber.set(Number(n), (byNumber.get(Number(n)) ?? new Set()).add(id));
  }
  for (const [id, entry] of ledger.tasks) {
    const n = ids.get(id);
    if (!entry.accepted || entry.numbers.has(0)) continue;
    if (n === undefined) ledger.differ('lost', id, [...entry.numbers].join());
    else ledger.carries(id, entry, n);
  }
  for (const [n, { least, most }] of ledger.numbers) {
    const found = byNumber.get(n)?.size ?? 0;
    if (found < least || found > most) {
      const which = [...(byNumber.get(n) ?? [])].join();
      ledger.differ(
        found < least ? 'lost' : 'doubled',
        n,
        `${least} to ${most} tasks, ${found}: ${which}`,
      );
    }
  }
  for (const n of byNumber.keys()) {
    if (!ledger.numbers.has(n))
      ledger.differ('nobody enqueued it', n, [...(byNumber.get(n) ?? [])].join());
  }
  for (const batch of ledger.batches) {
    const found = batch.filter((n) => byNumber.has(n)).length;
    // Of tasks with a unique key any may have been there before.
    const sure = batch.every((n) => ledger.numbers.get(n)?.least === 0 && !ledger.keyed.has(n));
    if (sure && found > 0 && found < batch.length) {
      ledger.differ('half of a call', batch[0] ?? 0, `${found} of ${batch.length}`);
    }
  }
  return ids;
}

/** Each has ended, in a way that somebody asked for, and as was said to whom. */
async function judge(ledger: Ledger, on: pg.Client, ids: Map<string, number>): Promise<void> {
  const all = [...ids.keys()];
  const counts = new Map<string, number>();
  for (let at = 0; at < all.length; at += 2000) {
    const part = all.slice(at, at + 2000);
    const { rows } = await on.query<{ n: number; state: string }>(
      'select n::integer as n, state from tock.whereabouts($1::bigint[])',
      [part],
    );
    if (rows.length !== part.length)
      ledger.differ('nowhere', part[0] ?? '', `${rows.length} of ${part.length}`);
    for (const { n: place, state } of rows) {
      const id = part[place - 1] as string;
      const n = ids.get(id) as number;
      counts.set(state, (counts.get(state) ?? 0) + 1);
      const known = ledger.tasks.get(id);
      const { asked } = ledger;
      const explained =
        state === 'expired' || (state in asked && asked[state as keyof typeof asked].has(n));
      if (!explained) ledger.differ('an end that nobody asked for', id, state);
      const done = [...(known?.done.keys() ?? [])].some(
        (queue) => queue !== queues.stages[0] && queue !== queues.stages[1],
      );
      if (done && state !== 'done') ledger.differ('a completion was undone', id, state);
      if (known?.cancelled_at != null && !known.claimed && state !== 'cancelled') {
        ledger.differ('a cancel was undone', id, state);
      }
    }
  }
  for (const [state, times] of counts) ledger.count(`ended ${state}`, times);
}

const results = `
  select i.id, e.state, e.result ->> 'by' as by
  from unnest($1::bigint[]) with ordinality i (id, n)
  left join tock.results e on e.stream = (i.id & 1048575)::integer and e.position = i.id >> 20
  order by i.n`;

/** What was said to have been done is what is kept, of the run that did it. */
async function compare(ledger: Ledger, on: pg.Client): Promise<void> {
  const told = [...ledger.tasks.values()].flatMap(({ done }) => [...done.values()]);
  const own = told.filter(({ by }) => by !== null);
  for (let at = 0; at < own.length; at += 5000) {
    const part = own.slice(at, at + 5000);
    const { rows } = await on.query(results, [part.map(({ run }) => run)]);
    rows.forEach((row, place) => {
      const { run, by } = part[place] as (typeof part)[number];
      if (row.state !== 'done' || row.by !== by) {
        ledger.differ('another result', run, `${row.state} by ${row.by}, not ${by}`);
      }
    });
  }
  ledger.count('results compared', own.length);
}

const fired = `
  select count(*)::integer as fires, count(distinct fire_at)::integer as seconds,
    extract(epoch from max(fire_at) - min(fire_at))::integer + 1 as span,
    count(*) filter (where outcome <> 'fired')::integer as others,
    count(*) - count(distinct task_id) as shared
  from tock.fired where schedule = 'each-second'`;

/** The schedule of each second has fired in each, from the first to the last, and made a task each time. */
export async function accountFires(
  { ledger }: Pick<Torture, 'ledger'>,
  on: pg.Client,
): Promise<void> {
  const [fires] = (await on.query(fired)).rows;
  ledger.count('fires of a schedule', fires.fires);
  if (
    fires.fires !== fires.span ||
    fires.seconds !== fires.span ||
    fires.others > 0 ||
    Number(fires.shared) > 0
  ) {
    ledger.differ('a schedule fired otherwise than once a second', '', JSON.stringify(fires));
  }
}

/** What is stored against what was told, and what must hold of any state. */
export async function account({ ledger }: Pick<Torture, 'ledger'>, on: pg.Client): Promise<void> {
  const ids = await count(ledger, on);
  await judge(ledger, on, ids);
  await compare(ledger, on);
  const { rows } = await on.query(
    'select count(*)::integer as open from tock.leases where closed_at is null',
  );
  if (rows[0].open > 0) ledger.differ('leases are open', '', String(rows[0].open));
  for (const [sentence, broken] of Object.entries(await brokenSentences(on))) {
    ledger.differ('a sentence of the audit does not hold', '', `${sentence}: ${broken}`);
  }
  const reports = await on.query(
    "select to_jsonb(r) as r from tock.reports r where r.detail ->> 'found' is distinct from 'new'",
  );
  for (const { r } of reports.rows) ledger.differ('a report', '', JSON.stringify(r));
}
