import type pg from 'pg';
import { dice, now, pause } from './clock.ts';
import { told } from './ledger.ts';
import { going, type Soak } from './soak.ts';

const over = new Set(['done', 'dead', 'cancelled', 'expired']);
const fates = `select n::integer as n, state, current_id::text as run from tock.whereabouts($1::bigint[])`;
// By the number in it: an id whose first run is history may be all that is known of a task.
const runsOf = `select (r.position << 20 | r.stream)::text as id from tock.runs r
  where r.task_id = $1 or (r.stream = ($1::bigint & 1048575)::integer and r.position = $1::bigint >> 20)
  union all
  select (w.position << 20)::text from tock.waiting w where w.task_id = $1 or w.position = $1::bigint >> 20
  order by 1`;

/**
 * Asks what became of these tasks and tells the ledger. Returns those that still go on. A task that
 * nothing knows any more, and that nobody was told the end of, is lost.
 */
export async function look(soak: Soak, on: pg.Client, numbers: number[]): Promise<number[]> {
  const { ledger } = soak;
  const ids = numbers.map((n) => ledger.idOf(n));
  const asked = now();
  const { rows } = await on.query<{ n: number; state: string }>(fates, [ids]);
  const states = new Map(rows.map(({ n, state }) => [numbers[n - 1] ?? 0, state]));
  const left: number[] = [];
  for (const n of numbers) {
    const state = states.get(n) ?? (await traced(soak, on, n));
    if (state && over.has(state)) ledger.ended(asked, n, state);
    else if (ledger.open.has(n)) left.push(n);
  }
  return left;
}

async function traced(soak: Soak, on: pg.Client, n: number): Promise<string | null> {
  const { ledger } = soak;
  const { rows } = await on.query<{ id: string }>(runsOf, [ledger.idOf(n)]);
  const last = rows.at(-1);
  if (ledger.is(n, told.done)) return null;
  if (!last) {
    // Its completion may be on its way to us.
    await pause(2000);
    if (!ledger.is(n, told.done | told.ended)) {
      ledger.differ('gone without an end', n, `task ${ledger.idOf(n)}`);
      ledger.open.delete(n);
    }
    return null;
  }
  ledger.count('tasks found by a later run only');
  const { rows: found } = await on.query<{ state: string }>(fates, [[last.id]]);
  return found[0]?.state ?? null;
}

/** Follows all tasks that have no acknowledged end, a thousand a second: what ends by itself is hidden, then gone. */
export function startObserver(soak: Soak): Promise<void> {
  let todo: number[] = [];
  return going(soak, 'look', dice(3), async (on) => {
    if (todo.length === 0) todo = [...soak.ledger.open];
    await look(soak, on, todo.splice(0, 1000));
    await pause(1000);
  });
}
