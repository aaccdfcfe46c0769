import type { Failure, Outcome, Progress, ProgressOf, Result } from '../types.ts';
import { checkFailures, checkIds, checkLease, checkResults, checkSeconds } from './checks.ts';
import { leaseEnded } from './problem.ts';
import { backoffSeconds, type LeasedRun, type Store, type StoredLease } from './store.ts';

/** `matching`: runs that now have this outcome. `added`: those that did not have it before. `refused`: other ids. */
type Selection = { matching: LeasedRun[]; added: LeasedRun[]; refused: string[] };

/** Operations on a lease. As in the database, a repeated call gives the same answer. */
export function leaseVerbs(store: Store) {
  const { now, instant } = store;

  function findLease(token: string): StoredLease {
    checkLease(token);
    const lease = store.leases.get(token);
    if (!lease) throw leaseEnded();
    return lease;
  }

  /** Selects the named runs, or all remaining ones. A run may repeat its outcome; a different outcome is refused. */
  function select(lease: StoredLease, outcomes: Map<string, string> | string): Selection {
    const all = typeof outcomes === 'string';
    const candidates = all
      ? [...lease.runs.values()].filter(({ ended }) => ended === undefined || ended === outcomes)
      : [...outcomes.keys()].map((id) => lease.runs.get(id));
    const ids = all ? [] : [...outcomes.keys()];
    const outcomeOf = (held: LeasedRun) => (all ? outcomes : outcomes.get(held.task.id));
    const matching = candidates.filter(
      (held) => held !== undefined && (held.ended === undefined || held.ended === outcomeOf(held)),
    ) as LeasedRun[];
    const added = matching.filter((held) => held.ended === undefined);
    for (const held of added) held.ended = outcomeOf(held);
    const matchingIds = new Set(matching.map(({ task }) => task.id));
    const hasOpenRuns = [...lease.runs.values()].some(({ ended }) => ended === undefined);
    // A lease that has ended still answers a call that repeats an outcome.
    if (matching.length === 0 && (all || !hasOpenRuns)) throw leaseEnded();
    return { matching, added, refused: ids.filter((id) => !matchingIds.has(id)) };
  }

  function endRun({ run }: LeasedRun, state: string, outcome: object = {}): void {
    Object.assign(run, { state, ended_at: instant(now()), ...outcome });
  }

  return {
    complete(token: string, results?: Result[]) {
      if (results) checkResults(results);
      const byId = new Map(results?.map((result) => [result.id, result]));
      const outcomes = new Map(
        results?.map((result) => [result.id, `done ${JSON.stringify(result.result ?? null)}`]),
      );
      const { matching, added, refused } = select(
        findLease(token),
        results ? outcomes : 'done null',
      );
      for (const held of added) {
        const { result = null, spawn } = byId.get(held.task.id) ?? {};
        endRun(held, 'done', { result });
        held.task.result = result;
        held.task.error = null;
        store.end(held.task, 'done');
        for (const task of spawn?.tasks ?? []) store.add(spawn?.queue ?? held.task.queue, task);
      }
      return { completed: matching.length, refused };
    },

    fail(token: string, failures: Failure[] | Outcome) {
      checkFailures(failures);
      const isList = Array.isArray(failures);
      const byId = new Map(isList ? failures.map((failure) => [failure.id, failure]) : []);
      const outcomeKey = (outcome: Outcome) => `failed ${JSON.stringify(outcome.error ?? null)}`;
      const outcomes = new Map(
        isList ? failures.map((failure) => [failure.id, outcomeKey(failure)]) : [],
      );
      const { matching, added, refused } = select(
        findLease(token),
        isList ? outcomes : outcomeKey(failures),
      );
      for (const held of added) {
        const { task } = held;
        const outcome: Outcome = isList ? (byId.get(task.id) ?? {}) : failures;
        const error = outcome.error ?? null;
        endRun(held, 'failed', { error });
        task.error = error;
        task.failed += 1;
        if (outcome.fatal || task.failed >= task.max_attempts) store.end(task, 'dead');
        else if (task.cancel_requested) store.end(task, 'cancelled');
        else {
          const delay_seconds = outcome.retry_in_seconds ?? backoffSeconds(task.failed);
          store.ready(task, now() + delay_seconds * 1000);
        }
      }
      const dead = matching.filter(({ task }) => task.state === 'dead').length;
      return { failed: matching.length, dead, refused };
    },

    release(token: string, ids?: string[]) {
      if (ids) checkIds(ids);
      const outcomes = new Map(ids?.map((id) => [id, 'released']));
      const { matching, added, refused } = select(findLease(token), ids ? outcomes : 'released');
      for (const held of added) {
        endRun(held, 'superseded');
        if (held.task.cancel_requested) {
          held.run.state = 'cancelled';
          store.end(held.task, 'cancelled');
        } else store.ready(held.task, now());
      }
      return { released: matching.length, refused };
    },

    extend(token: string, seconds: number, progress?: Progress | ProgressOf[]) {
      checkSeconds(seconds);
      const lease = findLease(token);
      const openRuns = [...lease.runs.values()].filter(({ ended }) => ended === undefined);
      if (openRuns.length === 0) throw leaseEnded();
      lease.until = Math.max(lease.until, now() + seconds * 1000);
      const reported = new Map(
        Array.isArray(progress) ? progress.map((report) => [report.id, report]) : [],
      );
      for (const { task, run } of openRuns) {
        run.leased_until = instant(lease.until);
        const { progress: percent, note } = Array.isArray(progress)
          ? (reported.get(task.id) ?? {})
          : (progress ?? {});
        if (percent !== undefined) run.progress = percent;
        if (note !== undefined) run.note = note;
        Object.assign(task, { progress: run.progress, note: run.note });
      }
      const matchingIds = new Set(openRuns.map(({ task }) => task.id));
      return {
        leased_until: instant(lease.until),
        runs: lease.runs.size,
        cancel: openRuns.filter(({ task }) => task.cancel_requested).map(({ task }) => task.id),
        refused: [...reported.keys()].filter((id) => !matchingIds.has(id)),
      };
    },
  };
}
