import type { Failure, Outcome, Progress, ProgressOf, Result } from '../types.ts';
import { checkFailures, checkIds, checkLease, checkResults, checkSeconds } from './checks.ts';
import { leaseOver } from './problem.ts';
import { backoffSeconds, type Held, type Store, type StoredLease } from './store.ts';

/** What of a lease's runs was said how, and which ids were not its own. */
type Parts = { good: Held[]; fresh: Held[]; refused: string[] };

/** What is done with a lease, as the database does it: the same again answers the same. */
export function leaseVerbs(store: Store) {
  const { now, instant } = store;

  function open(token: string): StoredLease {
    checkLease(token);
    const lease = store.leases.get(token);
    if (!lease) throw leaseOver();
    return lease;
  }

  /** Those named, or all that are left; the same end again counts, another one is refused. */
  function parts(lease: StoredLease, said: Map<string, string> | string): Parts {
    const all = typeof said === 'string';
    const asked = all
      ? [...lease.runs.values()].filter(({ ended }) => ended === undefined || ended === said)
      : [...said.keys()].map((id) => lease.runs.get(id));
    const ids = all ? [] : [...said.keys()];
    const endOf = (held: Held) => (all ? said : said.get(held.task.id));
    const good = asked.filter(
      (held) => held !== undefined && (held.ended === undefined || held.ended === endOf(held)),
    ) as Held[];
    const fresh = good.filter((held) => held.ended === undefined);
    for (const held of fresh) held.ended = endOf(held);
    const own = new Set(good.map(({ task }) => task.id));
    const left = [...lease.runs.values()].some(({ ended }) => ended === undefined);
    // One that is over answers for as long as there was something of the caller's in it.
    if (good.length === 0 && (all || !left)) throw leaseOver();
    return { good, fresh, refused: ids.filter((id) => !own.has(id)) };
  }

  function over({ run }: Held, state: string, said: object = {}): void {
    Object.assign(run, { state, ended_at: instant(now()), ...said });
  }

  return {
    complete(token: string, results?: Result[]) {
      if (results) checkResults(results);
      const by = new Map(results?.map((one) => [one.id, one]));
      const ends = new Map(
        results?.map((one) => [one.id, `done ${JSON.stringify(one.result ?? null)}`]),
      );
      const { good, fresh, refused } = parts(open(token), results ? ends : 'done null');
      for (const held of fresh) {
        const { result = null, spawn } = by.get(held.task.id) ?? {};
        over(held, 'done', { result });
        held.task.result = result;
        store.end(held.task, 'done');
        for (const one of spawn?.tasks ?? []) store.add(spawn?.queue ?? held.task.queue, one);
      }
      return { completed: good.length, refused };
    },

    fail(token: string, failures: Failure[] | Outcome) {
      checkFailures(failures);
      const listed = Array.isArray(failures);
      const by = new Map(listed ? failures.map((one) => [one.id, one]) : []);
      const key = (one: Outcome) => `failed ${JSON.stringify(one.error ?? null)}`;
      const ends = new Map(listed ? failures.map((one) => [one.id, key(one)]) : []);
      const { good, fresh, refused } = parts(open(token), listed ? ends : key(failures));
      for (const held of fresh) {
        const { task } = held;
        const said: Outcome = listed ? (by.get(task.id) ?? {}) : failures;
        const error = said.error ?? null;
        over(held, 'failed', { error });
        task.error = error;
        task.failed += 1;
        if (said.fatal || task.failed >= task.max_attempts) store.end(task, 'dead');
        else if (task.cancel_requested) store.end(task, 'cancelled');
        else {
          const wait = said.retry_in_seconds ?? backoffSeconds(task.failed);
          store.ready(task, now() + wait * 1000);
        }
      }
      const dead = good.filter(({ task }) => task.state === 'dead').length;
      return { failed: good.length, dead, refused };
    },

    release(token: string, ids?: string[]) {
      if (ids) checkIds(ids);
      const ends = new Map(ids?.map((id) => [id, 'released']));
      const { good, fresh, refused } = parts(open(token), ids ? ends : 'released');
      for (const held of fresh) {
        over(held, 'superseded');
        if (held.task.cancel_requested) {
          held.run.state = 'cancelled';
          store.end(held.task, 'cancelled');
        } else store.ready(held.task, now());
      }
      return { released: good.length, refused };
    },

    extend(token: string, seconds: number, progress?: Progress | ProgressOf[]) {
      checkSeconds(seconds);
      const lease = open(token);
      const going = [...lease.runs.values()].filter(({ ended }) => ended === undefined);
      if (going.length === 0) throw leaseOver();
      lease.until = Math.max(lease.until, now() + seconds * 1000);
      const said = new Map(Array.isArray(progress) ? progress.map((one) => [one.id, one]) : []);
      for (const { task, run } of going) {
        run.leased_until = instant(lease.until);
        const { progress: far, note } = Array.isArray(progress)
          ? (said.get(task.id) ?? {})
          : (progress ?? {});
        if (far !== undefined) run.progress = far;
        if (note !== undefined) run.note = note;
        Object.assign(task, { progress: run.progress, note: run.note });
      }
      const own = new Set(going.map(({ task }) => task.id));
      return {
        leased_until: instant(lease.until),
        runs: lease.runs.size,
        cancel: going.filter(({ task }) => task.cancel_requested).map(({ task }) => task.id),
        refused: [...said.keys()].filter((id) => !own.has(id)),
      };
    },
  };
}
