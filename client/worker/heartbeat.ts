import { LeaseLost } from '../errors.ts';
import type { Leases } from '../lease.ts';
import type { LeasedTasks, Progress } from '../types.ts';

type Hears = {
  /** The tasks that somebody wants cancelled. */
  cancel(ids: string[]): void;
  lost(error: LeaseLost): void;
  /** Its time is over, as far as can be told from here. */
  ranOut(): void;
  error(error: unknown): void;
};

export type Heartbeat = {
  progress(id: string, said: Progress): void;
  forget(id: string): void;
  stop(): void;
};

const PROGRESS_WITHIN_MS = 1000;

/**
 * Extends a lease at each third of it. The end is reckoned by how far the server says that it moved: the two clocks
 * need not agree. `late` is of a claim that was repeated: nobody knows when its lease began.
 */
export function heartbeat(
  source: Leases,
  { lease, leased_until }: LeasedTasks,
  lease_seconds: number,
  late: boolean,
  hears: Hears,
): Heartbeat {
  const every = (lease_seconds * 1000) / 3;
  const said = new Map<string, Progress>();
  const quiet = new AbortController();
  let beating = false;
  let soon = false;
  let theirEnd = Date.parse(leased_until);
  let end = performance.now() + lease_seconds * 1000;
  let next = setTimeout(beat, late ? 0 : every);
  let over = setTimeout(hears.ranOut, lease_seconds * 1000);

  function movedTo(until: number): void {
    end += until - theirEnd;
    theirEnd = until;
    clearTimeout(over);
    over = setTimeout(hears.ranOut, Math.max(0, end - performance.now()));
  }

  async function beat(): Promise<void> {
    beating = true;
    const progress = [...said].map(([id, one]) => ({ id, ...one }));
    said.clear();
    try {
      const told = progress.length > 0 ? progress : undefined;
      const { leased_until, cancel } = await source.extend(
        lease,
        lease_seconds,
        told,
        quiet.signal,
      );
      if (quiet.signal.aborted) return;
      movedTo(Date.parse(leased_until));
      hears.cancel(cancel);
    } catch (error) {
      if (quiet.signal.aborted) return;
      if (error instanceof LeaseLost) return hears.lost(error);
      hears.error(error);
    } finally {
      beating = false;
      soon = said.size > 0;
      if (!quiet.signal.aborted) next = setTimeout(beat, soon ? PROGRESS_WITHIN_MS : every);
    }
  }

  return {
    progress(id, one) {
      said.set(id, { ...said.get(id), ...one });
      if (soon || beating || quiet.signal.aborted) return;
      soon = true;
      clearTimeout(next);
      next = setTimeout(beat, Math.min(PROGRESS_WITHIN_MS, every));
    },
    forget: (id) => void said.delete(id),
    stop() {
      quiet.abort();
      clearTimeout(next);
      clearTimeout(over);
    },
  };
}
