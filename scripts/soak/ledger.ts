/** What clients know of a task, as bits. */
export const told = {
  accepted: 1,
  /** Its transaction was rolled back: nobody may ever see it. */
  undone: 2,
  /** The connection went before the answer came. */
  unsure: 4,
  /** Somebody sent a completion of it. */
  tried: 8,
  done: 16,
  /** Cancelled before it ran, as cancel() said. */
  cancelled: 32,
  /** Seen to have ended: done, dead or cancelled. */
  ended: 64,
  claimed: 128,
} as const;

export type Difference = { kind: string; task: number; detail: string };

/** A run as a claim gave it: the task's number, its id, the run's id, the attempt and the change. */
export type Given = [n: number, id: string, run: string, attempt: number, change: number];

/**
 * What was acknowledged, outside the database. A task is known by the number in its payload; its
 * entries stand in arrays by that number, as there are millions.
 */
export function openLedger(
  write: (event: unknown[]) => void,
  onDifference: (found: Difference) => void,
) {
  let size = 1 << 20;
  let flags = new Uint8Array(size);
  let ids = new BigInt64Array(size);
  let settledAt = new Float64Array(size);
  let changedAt = new Float64Array(size);
  let change = new Uint16Array(size);
  let next = 1;
  const open = new Set<number>();
  const counts = new Map<string, number>();

  function grow(): void {
    size *= 2;
    const longer = <T extends { set(from: T): void }>(made: T, from: T) => {
      made.set(from);
      return made;
    };
    flags = longer(new Uint8Array(size), flags);
    ids = longer(new BigInt64Array(size), ids);
    settledAt = longer(new Float64Array(size), settledAt);
    changedAt = longer(new Float64Array(size), changedAt);
    change = longer(new Uint16Array(size), change);
  }
  const is = (n: number, bits: number) => ((flags[n] ?? 0) & bits) !== 0;
  const add = (n: number, bits: number) => {
    flags[n] = (flags[n] ?? 0) | bits;
  };
  const count = (what: string, by = 1): void => {
    counts.set(what, (counts.get(what) ?? 0) + by);
  };
  const differ = (kind: string, task: number, detail: string) => {
    write(['difference', kind, task, detail]);
    onDifference({ kind, task, detail });
  };
  function named(n: number, id: string): void {
    const known = ids[n] ?? 0n;
    if (known !== 0n && known !== BigInt(id))
      differ('enqueued twice', n, `as ${known} and as ${id}`);
    ids[n] = BigInt(id);
  }

  return {
    open,
    counts,
    count,
    differ,
    is,
    next: () => next,
    idOf: (n: number) => String(ids[n] ?? 0n),
    /** The first of so many new numbers. */
    take(many: number): number {
      const first = next;
      next += many;
      while (next > size) grow();
      return first;
    },
    accepted(first: number, given: string[]): void {
      write(['accepted', first, given]);
      count('tasks accepted', given.length);
      given.forEach((id, at) => {
        named(first + at, id);
        add(first + at, told.accepted);
        if (!is(first + at, told.done | told.ended)) open.add(first + at);
      });
    },
    undone(first: number, many: number): void {
      write(['undone', first, many]);
      for (let n = first; n < first + many; n++) add(n, told.undone);
    },
    unsure(first: number, many: number): void {
      write(['unsure', first, many]);
      count('tasks of unknown fate', many);
      for (let n = first; n < first + many; n++) add(n, told.unsure);
    },
    claimed(sent: number, lease: string, runs: Given[]): void {
      write(['claimed', sent, lease, runs]);
      for (const [n, id, run, attempt, version] of runs) {
        const before = settledAt[n] ?? 0;
        if (is(n, told.undone)) differ('rolled back and handed out', n, `as ${id}`);
        if (is(n, told.done) && sent > before) {
          differ(
            'handed out after its completion',
            n,
            `run ${run}, lease ${lease}, ${sent} > ${before}`,
          );
        } else if (is(n, told.cancelled) && sent > before) {
          // One that was given back while the cancel was open may run once more.
          if (is(n, told.claimed)) count('cancels overtaken by a release or failure');
          else
            differ(
              'handed out after it was cancelled',
              n,
              `run ${run}, lease ${lease}, ${sent} > ${before}`,
            );
        }
        const untouched = attempt === 1 && !is(n, told.claimed) && sent > (changedAt[n] ?? 0);
        if (untouched && version < (change[n] ?? 0)) {
          differ(
            'a change was lost',
            n,
            `change ${change[n]}, handed out with ${version}, run ${run}`,
          );
        }
        named(n, id);
        add(n, told.claimed);
      }
    },
    tried(lease: string, numbers: number[]): void {
      write(['tried', lease, numbers]);
      for (const n of numbers) add(n, told.tried);
    },
    done(at: number, lease: string, numbers: number[]): void {
      write(['done', at, lease, numbers]);
      for (const n of numbers) {
        if (!is(n, told.done)) {
          settledAt[n] = at;
          count('tasks done');
        }
        add(n, told.done);
        open.delete(n);
      }
    },
    cancelled(at: number, n: number): void {
      write(['cancelled', at, n]);
      if (!is(n, told.done)) settledAt[n] = at;
      add(n, told.cancelled);
    },
    changed(at: number, n: number, version: number): void {
      write(['changed', at, n, version]);
      changedAt[n] = at;
      change[n] = version;
    },
    /** As seen by a question of that time: what was completed since may have been anything then. */
    ended(asked: number, n: number, state: string): void {
      write(['ended', asked, n, state]);
      if (is(n, told.done) && state !== 'done' && (settledAt[n] ?? 0) < asked)
        differ('a completion was undone', n, `it is ${state}`);
      if (is(n, told.undone)) differ('rolled back and there', n, `it is ${state}`);
      if (!is(n, told.ended | told.done)) count(`tasks seen ${state}`);
      add(n, told.ended);
      open.delete(n);
    },
  };
}

export type Ledger = ReturnType<typeof openLedger>;
