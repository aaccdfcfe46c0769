import type { Mutant } from './mutants.ts';

/** How leases end: complete, fail, release, extend. */
export const finish: Mutant[] = [
  {
    name: 'the place of a single-run lease is enough to end it',
    in: 'tock.end_lease',
    find: "and l.token = p_lease and coalesce(l.closed_at, 'infinity') = 'infinity' returning l.runs",
    replace: "and coalesce(l.closed_at, 'infinity') = 'infinity' returning l.runs",
    caught: ['sql/kernel/log/lease-tokens.test.ts', 'by its token, and by no other'],
  },
  {
    name: 'any run may be completed under any lease',
    in: 'tock.lease_rows',
    find: 'where l.token = p_lease and l.alone is null and not tock.is_of_one(p_lease)',
    replace: 'where p_lease is not null',
    caught: [
      'sql/kernel/finish/complete.test.ts',
      'tasks of another lease are refused, and those of this lease are completed',
    ],
  },
  {
    name: 'a whole lease is completed though it is closed',
    in: 'tock.end_lease',
    find: "coalesce(l.closed_at, 'infinity') = 'infinity' returning l.stream, l.after_position, l.last_position, l.runs",
    replace: 'true returning l.stream, l.after_position, l.last_position, l.runs',
    caught: [
      'sql/kernel/finish/complete.test.ts',
      'one call completes all tasks of a lease, and a repeat answers the same',
    ],
  },
  {
    name: 'a lease that failed in part is completed as a whole',
    in: 'tock.end_lease',
    find: 'if v_apart or v_rows > 0 then',
    replace: 'if false then',
    caught: [
      'sql/kernel/claim/claim-one.test.ts',
      'a whole completion counts the runs that did not fail before',
    ],
  },
  {
    name: 'a part of a lease is completed without a lock on the lease',
    in: 'tock.lock_lease_runs',
    find: 'l.alone is null for share;',
    replace: 'l.alone is null;',
    caught: ['sql/kernel/finish/reap.test.ts', 'a part completed in an open transaction'],
  },
  {
    name: 'a lease of one run is locked by several calls at once',
    in: 'tock.lock_lease_runs',
    find: 'for no key update; else perform from tock.leases_{segment} l where l.token = p_lease and l.alone is null for share;',
    replace:
      'for share; else perform from tock.leases_{segment} l where l.token = p_lease and l.alone is null for share;',
    caught: [
      'sql/kernel/claim/claim-one.test.ts',
      "a lease of one run that fails under another session's lock is closed",
    ],
  },
  {
    name: 'a run that was reaped is completed all the same',
    in: 'tock.lock_lease_runs',
    find: 'coalesce(e.state, l.outcome), e.result, e.error, e.next_id)::tock.leased_run from leased l join tock.streams s on s.number = l.stream join unnest',
    replace:
      "nullif(coalesce(e.state, l.outcome), 'lost'), e.result, e.error, e.next_id)::tock.leased_run from leased l join tock.streams s on s.number = l.stream join unnest",
    caught: ['sql/kernel/finish/reap.test.ts', 'a stale lease can neither'],
  },
  {
    name: 'a lease is closed before all of its runs have ended',
    in: 'tock.close_ended',
    find: "l.alone is null and coalesce(l.closed_at, 'infinity') = 'infinity' and l.runs = (",
    replace: "l.alone is null and coalesce(l.closed_at, 'infinity') = 'infinity' and l.runs >= (",
    caught: [
      'sql/kernel/finish/complete.test.ts',
      'a task keeps its result, and the other tasks of its lease keep running',
    ],
  },
  {
    name: 'a completion commits asynchronously',
    in: 'tock.complete',
    find: "begin if coalesce(p_results, 'null') <> 'null' then",
    replace:
      "begin perform pg_catalog.set_config('synchronous_commit', 'off', true); if coalesce(p_results, 'null') <> 'null' then",
    caught: ['faults/crash.test.ts', 'a completion acknowledged just before a crash'],
  },
  {
    name: 'a run that another call has ended is tried again',
    in: 'tock.write_results',
    find: 'from ended e join written w using (stream, position)',
    replace: 'from ended e',
    caught: [
      'sql/kernel/finish/end-lease.test.ts',
      'a task that one call completes and another fails',
    ],
  },
  {
    name: 'a failure overwrites the result of another call',
    in: 'tock.write_results',
    find: 'order by e.stream, e.position on conflict do nothing returning stream, position',
    replace:
      'order by e.stream, e.position on conflict (stream, position) do update set state = excluded.state returning stream, position',
    caught: [
      'sql/kernel/finish/end-lease.test.ts',
      'a task that one call completes and another fails',
    ],
  },
  {
    name: 'a run that is named by two ids is tried twice',
    in: 'tock.dedupe_outcomes',
    find: 'if pg_catalog.cardinality(p_ended) < 2 then',
    replace: 'if true then',
    caught: [
      'sql/kernel/finish/end-lease.test.ts',
      "a retried run that is named by its task's id and its own",
    ],
  },
  {
    name: 'a cancelled task is tried again',
    in: 'tock.apply_pending_changes',
    find: 'coalesce(t.cancelled, false) or coalesce(o.cancelled, false)',
    replace: 'false',
    caught: ['sql/kernel/change/cancel.test.ts', 'is not tried again'],
  },
  {
    name: 'a stale lease is extended',
    in: 'tock.extend_lease',
    find: "l.alone is null and coalesce(l.closed_at, 'infinity') = 'infinity' returning l.*",
    replace: 'l.alone is null returning l.*',
    caught: ['sql/kernel/finish/reap.test.ts', 'a stale lease can neither'],
  },
  {
    name: 'an extension may shorten a lease',
    in: 'tock.extend_lease',
    find: 'leased_until = greatest(l.leased_until, least(p_until, l.timeout_at)) where l.token',
    replace: 'leased_until = least(p_until, l.timeout_at) where l.token',
    caught: ['sql/kernel/finish/release-extend.test.ts', 'a lease is extended from now'],
  },
  {
    name: 'a lease is extended beyond the time limit',
    in: 'tock.extend_lease',
    find: 'least(p_until, l.timeout_at)) where l.token',
    replace: 'p_until) where l.token',
    caught: [
      'sql/kernel/claim/time-limits.test.ts',
      'ends the lease, and extending does not move it',
    ],
  },
  {
    name: 'a stale lease that was to be cancelled has its runs released',
    in: 'tock.release',
    find: "not in ('superseded', 'cancelled') or v_run.error is not null;",
    replace: "not in ('superseded', 'cancelled');",
    caught: ['sql/kernel/finish/reap.test.ts', 'a stale lease of a task with a pending cancel'],
  },
  {
    name: 'a release counts as an attempt',
    in: 'tock.release',
    find: 'v_run.position::text), v_run.attempt,',
    replace: 'v_run.position::text), v_run.attempt + 1,',
    caught: ['sql/kernel/finish/release-extend.test.ts', 'a released task is ready at once'],
  },
];
