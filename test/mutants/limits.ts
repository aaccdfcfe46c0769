import type { Mutant } from './mutants.ts';

/** Limits of a whole queue. */
export const limits: Mutant[] = [
  {
    name: 'a claim of one ignores the limit',
    in: 'tock.claim_one',
    find: 'and q.max_running is null and q.rate_limit is null',
    replace: '',
    caught: ['sql/features/queue_limits/limits-load.test.ts', 'eight workers, some of them killed'],
  },
  {
    name: 'a limit has no lock',
    in: 'tock.acquire_from_limiter',
    find: 'elsif pg_catalog.pg_try_advisory_xact_lock(tock.lock_space(), v_key) or (p_wait and tock.wait_for_lock(v_key)) then',
    replace: 'else',
    caught: [
      'sql/features/queue_limits/limits.test.ts',
      'an open claim makes other claims busy, and the limit holds',
    ],
  },
  {
    name: 'a limit is not read again under its lock',
    in: 'tock.acquire_from_limiter',
    find: 'p_wait and tock.wait_for_lock(v_key)) then v_one := tock.limiter_state_of(p_queue, p_policy);',
    replace: 'p_wait and tock.wait_for_lock(v_key)) then',
    caught: ['sql/features/queue_limits/limits-load.test.ts', 'eight workers, some of them killed'],
  },
  {
    name: 'a run counts until its whole lease has ended',
    in: 'tock.running_leases',
    find: 'l.runs - x.ended as runs',
    replace: 'l.runs as runs',
    caught: [
      'sql/features/queue_limits/limits.test.ts',
      'a queue never runs more tasks than its limit',
    ],
  },
  {
    name: 'claims that were open when the limit was set do not count',
    in: 'tock.open_leases',
    find: "and l.virtualtransaction !~ '/0$' and l.pid is distinct from",
    replace: 'and false and l.pid is distinct from',
    caught: [
      'sql/features/queue_limits/limits.test.ts',
      'a limit that is set while tasks run counts them, and waits for an open claim',
    ],
  },
  {
    name: 'a start takes nothing from the rate',
    in: 'tock.record_limiter_state',
    find: 'p_asked.level - p_started',
    replace: 'p_asked.level',
    caught: [
      'sql/features/queue_limits/limits-load.test.ts',
      'no window holds more starts than the burst and the rate allow, however many workers claim',
    ],
  },
];
