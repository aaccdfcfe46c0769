import { LeaseLost, TockError } from '../errors.ts';
import type { Leases } from '../lease.ts';
import type { Ended, LeasedTasks, LeaseEnd } from '../types.ts';
import { errorToJson, type TaskOutcome } from './outcome.ts';

export type OutcomeKind = 'done' | 'failed' | 'released' | 'cancelled' | 'lost';

export type TaskEnd = { id: string; end: TaskOutcome };

/** Events of reporting: outcomes, a lost lease, and errors. */
export type ReportEvents = {
  counted(kind: OutcomeKind, count: number): void;
  lost(error: LeaseLost): void;
  error(error: unknown): void;
};

/** True if the server refuses data: a result that is too large or not storable, or tasks that the key may not add. */
export const isRefusal = (error: unknown) =>
  error instanceof TockError && [400, 403, 413, 422].includes(error.status);

const hasNoResult = ({ end }: TaskEnd) =>
  end.kind === 'done' && Object.values(end.report).every((value) => value === undefined);

const hasNoOptions = ({ end }: TaskEnd) =>
  end.kind !== 'done' && !(end.kind === 'failed' && end.report.retry_in_seconds !== undefined);

const leaseLost = () =>
  new LeaseLost(409, { detail: 'This lease had ended before its tasks did.' });

const kindOf = ({ end }: TaskEnd): OutcomeKind => (end.kind === 'reported' ? end.as : end.kind);

const resultsOf = (outcomes: TaskEnd[]) =>
  outcomes.flatMap(({ id, end }) => (end.kind === 'done' ? [{ id, ...end.report }] : []));
const failuresOf = (outcomes: TaskEnd[]) =>
  outcomes.flatMap(({ id, end }) => (end.kind === 'failed' ? [{ id, ...end.report }] : []));

export type Reporter = {
  /** Reports outcomes: all done tasks in one call, then failed ones, then released ones. */
  report(outcomes: TaskEnd[]): Promise<void>;
  /** The outcomes as a claim takes them; null if a claim cannot report them. */
  endOf(outcomes: TaskEnd[]): LeaseEnd | null;
  /** Counts the outcomes that a claim has reported. */
  settle(outcomes: TaskEnd[], ended: Ended): void;
};

/** Reports the outcomes of a lease's tasks. */
export function createReporter(
  source: Leases,
  { lease, tasks }: LeasedTasks,
  events: ReportEvents,
): Reporter {
  // Without a list of tasks the server updates one row for the whole lease.
  const isWhole = (outcomes: TaskEnd[]) =>
    outcomes.length === tasks.length && outcomes.every(hasNoResult);
  const complete = (outcomes: TaskEnd[]) =>
    isWhole(outcomes) ? source.complete(lease) : source.complete(lease, resultsOf(outcomes));
  const fail = (outcomes: TaskEnd[]) => source.fail(lease, failuresOf(outcomes));
  const release = (outcomes: TaskEnd[]) =>
    source.release(
      lease,
      outcomes.map(({ id }) => id),
    );

  function countEnds(outcomes: TaskEnd[], refusedIds: string[]): void {
    const refused = new Set(refusedIds);
    for (const end of outcomes) events.counted(refused.has(end.id) ? 'lost' : kindOf(end), 1);
  }

  function endOf(outcomes: TaskEnd[]): LeaseEnd | null {
    if (isWhole(outcomes)) return { lease };
    const [results, failures] = [resultsOf(outcomes), failuresOf(outcomes)];
    if (results.length + failures.length < outcomes.length) return null;
    return {
      lease,
      ...(results.length > 0 && { results }),
      ...(failures.length > 0 && { failures }),
    };
  }

  function settle(outcomes: TaskEnd[], { lost, refused }: Ended): void {
    if (lost) {
      events.counted('lost', outcomes.length);
      events.lost(leaseLost());
    } else countEnds(outcomes, refused);
  }

  type PostOutcomes = (outcomes: TaskEnd[]) => Promise<{ refused: string[] }>;

  async function send(outcomes: TaskEnd[], post: PostOutcomes): Promise<void> {
    if (outcomes.length === 0) return;
    try {
      countEnds(outcomes, (await post(outcomes)).refused);
    } catch (error) {
      await splitRefused(error, outcomes, post);
    }
  }

  /** Halves the batch until the refused outcome is alone, and fails its task, so that it does not block the others. */
  async function splitRefused(
    error: unknown,
    outcomes: TaskEnd[],
    post: PostOutcomes,
  ): Promise<void> {
    const [end] = outcomes;
    if (end && isRefusal(error) && outcomes.length > 1) {
      const half = Math.ceil(outcomes.length / 2);
      await send(outcomes.slice(0, half), post);
      return send(outcomes.slice(half), post);
    }
    const failure: TaskOutcome = { kind: 'failed', report: { error: errorToJson(error) } };
    if (end && isRefusal(error) && !hasNoOptions(end)) {
      events.error(error);
      return send([{ id: end.id, end: failure }], fail);
    }
    events.counted('lost', outcomes.length);
    if (error instanceof LeaseLost) events.lost(error);
    else events.error(error);
  }

  async function report(outcomes: TaskEnd[]): Promise<void> {
    const ofKind = (...kinds: TaskOutcome['kind'][]) =>
      outcomes.filter(({ end }) => kinds.includes(end.kind));
    for (const end of ofKind('reported')) events.counted(kindOf(end), 1);
    await send(ofKind('done'), complete);
    await send(ofKind('failed'), fail);
    await send(ofKind('released', 'cancelled'), release);
  }

  return { report, endOf, settle };
}
