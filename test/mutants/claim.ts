import type { Mutant } from './mutants.ts';

/** Claims: the stream lock, the cursor, the leases' primary key, and what a claim answers. */
export const claim: Mutant[] = [
  {
    name: 'a claim takes no stream lock',
    in: 'tock.claim_streams',
    find: 'if not (v_held or pg_catalog.pg_try_advisory_xact_lock(tock.lock_space(), v_next.stream)) then',
    replace: 'if false then',
    caught: ['sql/kernel/claim/claim-load.test.ts', 'eight workers at limit'],
  },
  {
    name: 'leases have no fence',
    in: 'tock.leases',
    find: 'primary key (stream, after_position) ) partition by',
    replace: 'primary key (stream, after_position, token) ) partition by',
    caught: [
      'sql/kernel/claim/transactions.test.ts',
      'a claim without its lock is still refused: the primary key of the leases is the fence',
    ],
  },
  {
    name: 'a call that ends runs commits asynchronously',
    in: 'tock.end_and_claim',
    find: 'p_own_transaction := false;',
    replace: '',
    caught: ['sql/kernel/claim/next.test.ts', 'a call that ends runs commits synchronously'],
  },
  {
    name: 'a lost lease is reported as ended',
    in: 'tock.end_leases',
    find: 'v_lost := not found; v_refused',
    replace: 'v_refused',
    caught: ['sql/kernel/claim/next.test.ts', 'a lost lease is reported, and the claim goes on'],
  },
  {
    name: 'the cursor passes a run that was not handed out',
    in: 'tock.lease_range',
    find: 'select max(p.position) as last_position, count(*) as runs from picked p',
    replace: 'select max(p.position) + 1 as last_position, count(*) as runs from picked p',
    caught: ['sql/kernel/claim/claim.test.ts', 'a claim gives no more than its limit'],
  },
  {
    name: 'priorities are claimed in reverse',
    in: 'tock.find_streams',
    find: 't.start_after, t.lane from tock.streams t where t.queue = p_queue and t.awake and t.number <> all (p_seen) order by t.priority,',
    replace:
      't.start_after, t.lane from tock.streams t where t.queue = p_queue and t.awake and t.number <> all (p_seen) order by t.priority desc,',
    caught: ['sql/kernel/claim/claim.test.ts', 'tasks are claimed by priority'],
  },
  {
    name: "a claim's answer is not bounded in bytes",
    in: 'tock.lease_range',
    find: 'where n.upto <= v_bytes or (v_one and n.upto = n.cost) … leased_until) select',
    replace: '… leased_until) select',
    caught: [
      'sql/kernel/claim/claim.test.ts',
      'tasks with large payloads are claimed in answers of bounded size',
    ],
  },
  {
    name: 'a paused queue gives tasks to a claim of one',
    in: 'tock.claim_one',
    find: 'and not q.paused and not q.pause_after_restore',
    replace: '',
    caught: [
      'sql/kernel/claim/claim.test.ts',
      'a paused queue accepts tasks and gives none until it is resumed',
    ],
  },
  {
    name: 'every claim commits asynchronously',
    in: 'tock.is_own_transaction',
    find: 'select p_own_transaction and',
    replace: 'select true and',
    caught: [
      'sql/kernel/claim/transactions.test.ts',
      'a claim beside other statements in one message, or inside a function, leaves the commit mode unchanged',
    ],
  },
  {
    name: 'a claim commits asynchronously after a write of its transaction',
    in: 'tock.is_own_transaction',
    find: 'and pg_catalog.pg_current_xact_id_if_assigned() is null',
    replace: '',
    caught: [
      'sql/kernel/claim/transactions.test.ts',
      'a claim marked as its own transaction, but with earlier writes, commits synchronously',
    ],
  },
  {
    name: 'a claim with a concurrency key may be lost in a crash',
    in: 'tock.claim_streams',
    find: 'if p_own_transaction and not coalesce(tock.lease_has_options(v_range.token), false) and (p_claim.limiter_state).allowed is null and not tock.has_fired() then',
    replace:
      'if p_own_transaction and (p_claim.limiter_state).allowed is null and not tock.has_fired() then',
    caught: [
      'sql/features/concurrency/concurrency-keys.test.ts',
      'a claim of a task with a key commits synchronously',
    ],
  },
  {
    name: 'a claim at a limit may be lost in a crash',
    in: 'tock.claim_streams',
    find: 'if p_own_transaction and not coalesce(tock.lease_has_options(v_range.token), false) and (p_claim.limiter_state).allowed is null and not tock.has_fired() then',
    replace:
      'if p_own_transaction and not coalesce(tock.lease_has_options(v_range.token), false) and not tock.has_fired() then',
    caught: ['sql/features/queue_limits/rates.test.ts', 'a claim at a limit commits synchronously'],
  },
  {
    name: 'a claim of one takes a cancelled task',
    in: 'tock.claim_one',
    find: 'and (select m.position from tock.run_overrides_%2$s m where m.stream = v_next.stream … is null',
    replace: '',
    caught: ['sql/kernel/claim/claim-one.test.ts', 'a claim of one skips a cancelled task'],
  },
  {
    name: 'a claim of one stays in its segment when the next has begun',
    in: 'tock.claim_one',
    find: 'and (select %1$s from tock.positions s) and not (p_late',
    replace: 'and not (p_late',
    caught: ['sql/kernel/claim/claim-one.test.ts', 'claims of one continue in the next segment'],
  },
  {
    name: 'a promotion that fails fails the claim',
    in: 'tock.run_late_maintenance',
    find: 'end loop; exception when others or query_canceled then',
    replace: 'end loop; exception when division_by_zero then',
    caught: [
      'sql/features/dependencies/rechecks.test.ts',
      'maintenance in a claim cannot fail the claim',
    ],
  },
  {
    name: 'an expired task starts',
    in: 'tock.pass_overridden',
    find: 'coalesce(r.expired, false) or (select',
    replace: '(select',
    caught: ['sql/kernel/claim/time-limits.test.ts', 'never starts after its time'],
  },
  {
    name: 'runs are passed over without a lease',
    in: 'tock.pass_overridden',
    find: 'perform tock.skip_range(p_range.stream, p_range.after_position, v_passed.after_position, v_passed.passed);',
    replace: 'null;',
    caught: [
      'sql/kernel/change/cancel.test.ts',
      'a cancelled task is never leased, and the others are',
    ],
  },
  {
    name: 'tasks of different time limits share a lease',
    in: 'tock.pass_overridden',
    find: 'exit when v_taken > 0 and v_run.timeout_seconds is distinct from v_passed.timeout_seconds;',
    replace: '',
    caught: ['sql/kernel/claim/time-limits.test.ts', 'is shared by all runs of a lease'],
  },
];
