/** A task as a claim gave it: its id, the run's, the number in its payload. */
export type Given = { id: string; run_id: string; n: number };

type Entry = {
  /** The numbers that it may carry: of a unique key's, each that was sent. */
  numbers: Set<number>;
  accepted: boolean;
  /** It has a unique key: it may carry what another call sent for that, whose answer was late or lost. */
  shared: boolean;
  claimed: boolean;
  /** By queue, as a pipeline has several: the run whose completion was acknowledged, and its result. */
  done: Map<string, { run: string; by: string | null; at: number }>;
  /** When its cancelling was acknowledged before it ran. */
  cancelled_at: number | null;
};

/** How many tasks there are to be with a number in them. */
type Count = { least: number; most: number };

export type Difference = { kind: string; about: string; detail: string };

/** What clients were told and what they sent, outside of everything that is killed. */
export function openLedger(onDifference: (found: Difference) => void) {
  const tasks = new Map<string, Entry>();
  const numbers = new Map<number, Count>();
  const counts = new Map<string, number>();
  /** Which ends somebody asked for, by number. */
  const asked = { done: new Set<number>(), dead: new Set<number>(), cancelled: new Set<number>() };
  const batches: number[][] = [];
  /** Tasks that others wait for, or that are more than one thing: nobody changes their mind about these. */
  const shielded = new Set<string>();
  /** Numbers that were sent with a unique key. */
  const keyed = new Set<number>();
  let next = 1;

  const count = (what: string, by = 1) => counts.set(what, (counts.get(what) ?? 0) + by);
  const differ = (kind: string, about: string | number, detail: string) =>
    onDifference({ kind, about: String(about), detail });
  function entry(id: string): Entry {
    const known = tasks.get(id);
    if (known) return known;
    const made = {
      numbers: new Set<number>(),
      accepted: false,
      shared: false,
      claimed: false,
      done: new Map(),
      cancelled_at: null,
    };
    tasks.set(id, made);
    return made;
  }
  function expect(n: number, least: number, most: number): void {
    const now = numbers.get(n) ?? { least: 0, most: 0 };
    numbers.set(n, { least: now.least + least, most: now.most + most });
  }

  function carries(id: string, { numbers, shared }: Entry, n: number): void {
    if (numbers.has(n) || (shared && keyed.has(n))) return;
    differ('another payload', id, `${n}, not ${[...numbers].join()}`);
  }

  return {
    tasks,
    keyed,
    carries,
    numbers,
    batches,
    shielded,
    counts,
    asked,
    count,
    differ,
    expect,
    take: (many: number) => Array.from({ length: many }, () => next++),
    /** `shared`: the ids may be of tasks that were there before, by a unique key. */
    accepted(ids: string[], own: number[], shared = false): void {
      count('tasks accepted', ids.length);
      if (ids.length !== own.length) differ('other ids than tasks', own[0] ?? 0, ids.join());
      ids.forEach((id, at) => {
        const n = own[at] as number;
        const known = entry(id);
        if (!shared && known.accepted) differ('one id for two tasks', id, `the second is ${n}`);
        known.accepted = true;
        known.shared = shared;
        known.numbers.add(n);
        expect(n, shared ? 0 : 1, 1);
      });
    },
    /** No answer came, and nobody asks again: all of them are there or none. */
    unsure(own: number[]): void {
      count('tasks of unknown fate', own.length);
      for (const n of own) expect(n, 0, 1);
      batches.push(own);
    },
    undone(own: number[]): void {
      for (const n of own) expect(n, 0, 0);
    },
    /** A new task with the number of an old one. */
    rerun(id: string, n: number): void {
      const known = entry(id);
      known.accepted = true;
      known.numbers.add(n);
      count('tasks run again');
    },
    again(n: number, sure: boolean): void {
      expect(n, sure ? 1 : 0, 1);
    },
    claimed(sent: number, queue: string, given: Given[]): void {
      count('runs claimed', given.length);
      for (const { id, run_id, n } of given) {
        const known = entry(id);
        const done = known.done.get(queue);
        if (done && sent > done.at) differ('handed out after its completion', id, `run ${run_id}`);
        const { cancelled_at, claimed } = known;
        if (cancelled_at !== null && sent > cancelled_at && !claimed) {
          differ('handed out after it was cancelled', id, `run ${run_id}`);
        }
        if (known.accepted) carries(id, known, n);
        if (!known.accepted) known.numbers.add(n);
        known.claimed = true;
      }
    },
    done(at: number, queue: string, run: Given, by: string | null): void {
      count('tasks done');
      const known = entry(run.id);
      const before = known.done.get(queue);
      if (before && before.run !== run.run_id) {
        differ('finished twice', run.id, `runs ${before.run} and ${run.run_id}, in ${queue}`);
      }
      if (!before) known.done.set(queue, { run: run.run_id, by, at });
    },
    cancelled(at: number, id: string): void {
      entry(id).cancelled_at ??= at;
    },
  };
}

export type Ledger = ReturnType<typeof openLedger>;
