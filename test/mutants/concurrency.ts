import type { Mutant } from './mutants.ts';

/** Concurrency keys: holders, waiters and admissions. */
export const concurrency: Mutant[] = [
  {
    name: 'a key ignores its holders',
    in: 'tock.admit_waiters',
    find: 'v_policy.concurrency_limit) end - pg_catalog.cardinality(v_next.inside);',
    replace: 'v_policy.concurrency_limit) end;',
    caught: [
      'sql/features/concurrency/concurrency-load.test.ts',
      'with eight workers no more tasks of a key run than its limit, and all tasks end',
    ],
  },
  {
    name: 'two transactions admit through one key at once',
    in: 'tock.lock_concurrency_keys',
    find: 'and g.concurrency_key = u.concurrency_key for update skip locked) l);',
    replace: 'and g.concurrency_key = u.concurrency_key) l);',
    caught: [
      'sql/features/concurrency/concurrency-load.test.ts',
      'with eight workers no more tasks of a key run than its limit, and all tasks end',
    ],
  },
  {
    name: 'a key admits the last that came',
    in: 'tock.admit_waiters',
    find: 'order by w.queue, w.concurrency_key, w.ticket limit v_free',
    replace: 'order by w.ticket desc limit v_free',
    caught: [
      'sql/features/concurrency/concurrency-keys.test.ts',
      'tasks of one key start one at a time, in the order of enqueueing',
    ],
  },
  {
    name: 'a key is free while a claim under way has its holder',
    in: 'tock.current_holders',
    find: 'continue when tock.will_not_start(v_at.current_id, p_lock);',
    replace: 'continue;',
    caught: ['sql/features/concurrency/admissions.test.ts', 'was cancelled meanwhile'],
  },
  {
    name: 'the end of a task frees no key',
    in: 'tock.admit_at_named_keys',
    find: "if v_concurrency_keys <> '{}' then perform tock.admit_at_keys(v_queues, v_concurrency_keys, p_wait); end if;",
    replace: '',
    caught: ['sql/features/concurrency/concurrency-keys.test.ts', 'is done'],
  },
  {
    name: 'a part of a lease that is completed frees no key',
    in: 'tock.complete_runs',
    find: "perform tock.after_runs_ended(v_segment, v_ended); end if; refused := '{}';",
    replace: "null; end if; refused := '{}';",
    caught: ['sql/features/concurrency/concurrency-keys.test.ts', 'is done with a result'],
  },
  {
    name: 'a retry gives up the key that it may keep',
    in: 'tock.current_holders',
    find: 'if not (p_keep or v_waits.goes_on) then',
    replace: 'if true then',
    caught: [
      'sql/features/concurrency/concurrency-keys.test.ts',
      'a retry that waits holds the key, and runs when its time has come',
    ],
  },
  {
    name: 'a key is forgotten that a task came to meanwhile',
    in: 'tock.prune_concurrency_keys',
    find: 'continue when v_concurrency_key.concurrency_key is null or not tock.is_idle_concurrency_key(v_concurrency_key);',
    replace: 'continue when v_concurrency_key.concurrency_key is null;',
    caught: [
      'sql/features/concurrency/locks.test.ts',
      'stay when a task is enqueued while others are pruned',
    ],
  },
];
