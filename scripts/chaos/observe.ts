import type pg from 'pg';
import type { Chaos } from './chaos.ts';
import { codeOf, expectedCode } from './drivers/sql.ts';
import { pause } from './random.ts';

// The number is where it was put, or where gathered results and spawned tasks have wrapped it.
const tasksOf = `
  select distinct on (t.id) t.id::text as id, last_value(t.run) over w::text as last,
    coalesce((t.payload ->> 'n')::bigint, (t.payload #>> '{payload,n}')::bigint, 0)::float8 as n,
    again.of_id::text as of
  from (
    select coalesce(r.task_id, r.position << 20 | r.stream) as id, r.position << 20 | r.stream as run, r.position, r.payload from tock.runs r
    union all
    select coalesce(w.task_id, w.position << 20), w.position << 20, w.position, w.payload from tock.waiting w
  ) t left join tock.reruns again on again.id = t.id
  window w as (partition by t.id order by t.position rows between unbounded preceding and unbounded following)
  order by t.id, t.position`;

type Row = { id: string; n: number; of: string | null; last: string };

/** A claim that has not committed may have a run that reads as expired or cancelled: then it is not over yet. */
const statesOf = `select i.id::text as id, w.state,
    w.state not in ('expired', 'cancelled') or tock.will_not_start(w.current_id, false) as sure
  from unnest($1::bigint[]) with ordinality i (id, n) join tock.resolve_tasks($1::bigint[]) w on w.n = i.n`;

const settled = `select coalesce(array_agg(number), '{}') as segments from tock.segments
  where closed_at > now() - interval '1 year'`;

/** As if their retention had passed. */
const prepareSegmentDrop =
  "update tock.segments set closed_at = now() - interval '11 years' where number = any($1)";

const over = new Set(['done', 'dead', 'cancelled', 'expired']);

async function states(on: pg.Client, ids: string[]) {
  const found = new Map<string, { state: string; over: boolean }>();
  for (let at = 0; at < ids.length; at += 2000) {
    const { rows } = await on.query(statesOf, [ids.slice(at, at + 2000)]);
    for (const { id, state, sure } of rows) found.set(id, { state, over: sure && over.has(state) });
  }
  return found;
}

/**
 * Follows every task to its end and then lets history be dropped: a task that was accepted and that the database
 * does not know any more must have been seen to end, or its completion acknowledged.
 */
export function openObserver(chaos: Chaos) {
  const { journal, ledger } = chaos;
  const numbers = new Map<string, number>();
  const reruns = new Map<string, string>();
  const completed = new Set<string>();
  const missing = new Set<string>();
  let endsRead = 0;

  /** What is stored now; the last run's id by the task's. */
  async function scan(on: pg.Client): Promise<Map<string, string>> {
    for (const { id, n } of journal.requests.values())
      if (id && !numbers.has(id)) numbers.set(id, n);
    for (const { id, of } of journal.reruns) reruns.set(id, of);
    const { rows } = await on.query<Row>(tasksOf);
    for (const { id, n, of } of rows) {
      if (!numbers.has(id)) numbers.set(id, n);
      if (of) reruns.set(id, of);
    }
    return new Map(rows.map(({ id, last }) => [id, last]));
  }

  function readEnds(): void {
    // The answer of one of the last may still be on its way.
    for (const end of journal.ends.slice(Math.max(0, endsRead - 500)))
      if (end.acknowledged !== undefined) for (const id of end.final) completed.add(id);
    endsRead = journal.ends.length;
  }

  async function look(on: pg.Client, last: boolean): Promise<void> {
    const { rows } = await on.query(settled);
    const accepted = [...journal.requests.values()].flatMap(({ id }) => (id ? [id] : []));
    const rerun = journal.reruns.map(({ id }) => id);
    const stored = await scan(on);
    const all = new Set([...stored.keys(), ...accepted, ...rerun]);
    const open = [...all].filter((id) => !journal.stored.has(id));
    const found = await states(on, open);
    // The run by whose id a task is known may be history already.
    const later = open.flatMap((id) => (found.has(id) ? [] : (stored.get(id) ?? [])));
    const byRun = await states(on, later);
    readEnds();
    for (const id of open) {
      const now = found.get(id) ?? byRun.get(stored.get(id) ?? '');
      const task = { id, n: numbers.get(id) ?? 0, rerunOf: reruns.get(id) ?? null };
      if (now && (last || now.over)) journal.seen({ ...task, state: now.state });
      else if (now) continue;
      else if (completed.has(id)) journal.seen({ ...task, state: 'done' });
      else if (missing.has(id)) {
        // Twice in a row: its acknowledgement would be here by now.
        ledger.differ('gone without an end', id, `number ${task.n}`);
        journal.seen({ ...task, state: 'gone' });
      } else missing.add(id);
    }
    if (!last) return void (await on.query(prepareSegmentDrop, [rows[0].segments]));
    // What was seen to end and is still stored has ended the same way.
    const known = [...stored.keys()].filter((id) => journal.stored.has(id));
    for (const [id, { state }] of await states(on, known)) {
      const before = journal.stored.get(id)?.state;
      if (before !== state) ledger.differ('an end was undone', id, `${before}, then ${state}`);
    }
  }

  return {
    look,
    /** Looks every few seconds, over a connection of its own each time. */
    async follow(): Promise<void> {
      while (chaos.going) {
        await pause(3000);
        const on = await chaos.stack.connect().catch(() => null);
        await (on && look(on, false).catch((error) => met(chaos, 'observe', error)));
        await on?.end().catch(() => {});
      }
    },
  };
}

/** Counts an error of the harness's own statements; one that no fault explains is a difference. */
export function met({ ledger }: Pick<Chaos, 'ledger'>, what: string, error: unknown): string {
  const code = codeOf(error);
  ledger.count(`${what} refused: ${code}`);
  if (!expectedCode(code)) {
    const { message, stack = '' } = error as Error;
    ledger.differ(
      'an error that nothing explains',
      0,
      `${what}: ${code} ${message} ${stack.split('\n')[1] ?? ''}`,
    );
  }
  return code;
}
