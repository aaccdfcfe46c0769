import type pg from 'pg';
import type { Chaos } from './chaos.ts';
import { errorCode, expectedCode } from './drivers/sql.ts';
import { pause } from './random.ts';

// The number is in the payload itself, or inside included results and spawned tasks.
const tasksQuery = `
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

/** `sure` is false for an expired or cancelled task whose run an open claim may have leased: it may still start. */
const statesQuery = `select i.id::text as id, w.state,
    w.state not in ('expired', 'cancelled') or tock.will_not_start(w.current_id, false) as sure
  from unnest($1::bigint[]) with ordinality i (id, n) join tock.resolve_tasks($1::bigint[]) w on w.n = i.n`;

const settled = `select coalesce(array_agg(number), '{}') as segments from tock.segments
  where closed_at > now() - interval '1 year'`;

/** Makes the segments look so old that their retention has passed. */
const prepareSegmentDrop =
  "update tock.segments set closed_at = now() - interval '11 years' where number = any($1)";

const final = new Set(['done', 'dead', 'cancelled', 'expired']);

async function states(client: pg.Client, ids: string[]) {
  const stateById = new Map<string, { state: string; final: boolean }>();
  for (let offset = 0; offset < ids.length; offset += 2000) {
    const part = [ids.slice(offset, offset + 2000)];
    const { rows } = await client.query(statesQuery, part);
    for (const { id, state, sure } of rows)
      stateById.set(id, { state, final: sure && final.has(state) });
    // will_not_start() looks later than the rest of its query. A task that was claimed and ended in between has another
    // state by now.
    for (const { id, state } of (await client.query(statesQuery, part)).rows)
      if (stateById.get(id)?.state !== state) stateById.set(id, { state, final: false });
  }
  return stateById;
}

/**
 * Follows every task to its end, then drops history. If the database no longer has an accepted task, the observer must
 * have seen its end, or a worker must have got the acknowledgement of its completion.
 */
export function openObserver(chaos: Chaos) {
  const { journal, ledger } = chaos;
  const numbers = new Map<string, number>();
  const reruns = new Map<string, string>();
  const completed = new Set<string>();
  const missing = new Set<string>();
  let endsRead = 0;

  /** Maps the id of each stored task to the id of its last run or waiting entry. Also fills `numbers` and `reruns`. */
  async function scan(client: pg.Client): Promise<Map<string, string>> {
    for (const { id, n } of journal.requests.values())
      if (id && !numbers.has(id)) numbers.set(id, n);
    for (const { id, of } of journal.reruns) reruns.set(id, of);
    const { rows } = await client.query<Row>(tasksQuery);
    for (const { id, n, of } of rows) {
      if (!numbers.has(id)) numbers.set(id, n);
      if (of) reruns.set(id, of);
    }
    return new Map(rows.map(({ id, last }) => [id, last]));
  }

  /** Reads new ends, and the last 500 again: their acknowledgements may have arrived since the previous look. */
  function readEnds(): void {
    for (const end of journal.ends.slice(Math.max(0, endsRead - 500)))
      if (end.acknowledged !== undefined) for (const id of end.final) completed.add(id);
    endsRead = journal.ends.length;
  }

  async function observe(client: pg.Client, last: boolean): Promise<void> {
    const { rows } = await client.query(settled);
    const accepted = [...journal.requests.values()].flatMap(({ id }) => (id ? [id] : []));
    const rerun = journal.reruns.map(({ id }) => id);
    const stored = await scan(client);
    const all = new Set([...stored.keys(), ...accepted, ...rerun]);
    const openIds = [...all].filter((id) => !journal.stored.has(id));
    const statesById = await states(client, openIds);
    // The first run of a task may be dropped already; then its last run tells the state.
    const later = openIds.flatMap((id) => (statesById.has(id) ? [] : (stored.get(id) ?? [])));
    const statesByRun = await states(client, later);
    readEnds();
    for (const id of openIds) {
      const now = statesById.get(id) ?? statesByRun.get(stored.get(id) ?? '');
      const task = { id, n: numbers.get(id) ?? 0, rerunOf: reruns.get(id) ?? null };
      if (now && (last || now.final)) journal.seen({ ...task, state: now.state });
      else if (now) continue;
      else if (completed.has(id)) journal.seen({ ...task, state: 'done' });
      else if (missing.has(id)) {
        // The task was missing in the previous look too, so an acknowledgement would have arrived by now.
        ledger.differ('dropped without an end', id, `number ${task.n}`);
        journal.seen({ ...task, state: 'gone' });
      } else missing.add(id);
    }
    if (!last) return void (await client.query(prepareSegmentDrop, [rows[0].segments]));
    // A task that the observer has seen ended, and that is still stored, must have the same state.
    const known = [...stored.keys()].filter((id) => journal.stored.has(id));
    for (const [id, { state }] of await states(client, known)) {
      const before = journal.stored.get(id)?.state;
      if (before !== state) ledger.differ('an end was undone', id, `${before}, then ${state}`);
    }
  }

  return {
    look: observe,
    /** Observes every few seconds, over a new connection each time. */
    async follow(): Promise<void> {
      while (chaos.running) {
        await pause(3000);
        const client = await chaos.stack.connect().catch(() => null);
        await (client &&
          observe(client, false).catch((error) => recordError(chaos, 'observe', error)));
        await client?.end().catch(() => {});
      }
    },
  };
}

/** Counts an error of the harness's own statements. An error that no fault explains is a difference. */
export function recordError(
  { ledger }: Pick<Chaos, 'ledger'>,
  what: string,
  error: unknown,
): string {
  const code = errorCode(error);
  ledger.count(`${what} refused: ${code}`);
  if (!expectedCode(code)) {
    const { message, stack = '' } = error as Error;
    ledger.differ(
      'an unexplained error',
      0,
      `${what}: ${code} ${message} ${stack.split('\n')[1] ?? ''}`,
    );
  }
  return code;
}
