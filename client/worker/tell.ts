import { LeaseLost, TockError } from '../errors.ts';
import type { Leases } from '../lease.ts';
import type { LeasedTasks } from '../types.ts';
import { type End, told } from './outcome.ts';

export type Kind = 'done' | 'failed' | 'released' | 'cancelled' | 'lost';

export type Ended = { id: string; end: End };

/** Hears what became of tasks, and of trouble on the way. */
export type Hears = {
  counted(kind: Kind, count: number): void;
  lost(error: LeaseLost): void;
  error(error: unknown): void;
};

// A result that is too large or can't be stored, or tasks that the key may not add.
const isRefusal = (error: unknown) =>
  error instanceof TockError && [400, 403, 413, 422].includes(error.status);

const isPlain = ({ end }: Ended) =>
  end.kind === 'done' && Object.values(end.said).every((value) => value === undefined);

const isPlainFailure = ({ end }: Ended) =>
  end.kind !== 'done' && !(end.kind === 'failed' && end.said.retry_in_seconds !== undefined);

const kindOf = ({ end }: Ended): Kind => (end.kind === 'told' ? end.as : end.kind);

/** Tells what became of a lease's tasks: all that are done in one call, then what failed, then what goes back. */
export function teller(source: Leases, { lease, tasks }: LeasedTasks, hears: Hears) {
  const complete = (ends: Ended[]) =>
    // One update, whatever the number of tasks.
    ends.length === tasks.length && ends.every(isPlain)
      ? source.complete(lease)
      : source.complete(
          lease,
          ends.map(({ id, end }) => ({ id, ...(end.kind === 'done' && end.said) })),
        );
  const fail = (ends: Ended[]) =>
    source.fail(
      lease,
      ends.map(({ id, end }) => ({ id, ...(end.kind === 'failed' && end.said) })),
    );
  const release = (ends: Ended[]) =>
    source.release(
      lease,
      ends.map(({ id }) => id),
    );

  type Send = (ends: Ended[]) => Promise<{ refused: string[] }>;

  async function send(ends: Ended[], how: Send): Promise<void> {
    if (ends.length === 0) return;
    try {
      const refused = new Set((await how(ends)).refused);
      for (const one of ends) hears.counted(refused.has(one.id) ? 'lost' : kindOf(one), 1);
    } catch (error) {
      await refusedAs(error, ends, how);
    }
  }

  /** One that is refused must not keep the others from being told: halves, down to it alone, which then has failed. */
  async function refusedAs(error: unknown, ends: Ended[], how: Send): Promise<void> {
    const [one] = ends;
    if (one && isRefusal(error) && ends.length > 1) {
      const half = Math.ceil(ends.length / 2);
      await send(ends.slice(0, half), how);
      return send(ends.slice(half), how);
    }
    const plain: End = { kind: 'failed', said: { error: told(error) } };
    if (one && isRefusal(error) && !isPlainFailure(one)) {
      hears.error(error);
      return send([{ id: one.id, end: plain }], fail);
    }
    hears.counted('lost', ends.length);
    if (error instanceof LeaseLost) hears.lost(error);
    else hears.error(error);
  }

  return async (ends: Ended[]): Promise<void> => {
    const of = (...kinds: End['kind'][]) => ends.filter(({ end }) => kinds.includes(end.kind));
    for (const one of of('told')) hears.counted(kindOf(one), 1);
    await send(of('done'), complete);
    await send(of('failed'), fail);
    await send(of('released', 'cancelled'), release);
  };
}
