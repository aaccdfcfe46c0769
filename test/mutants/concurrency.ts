import type { Mutant } from './mutants.ts';

/** Concurrency keys: who holds one, who waits, who is let in. */
export const concurrency: Mutant[] = [
  {
    name: 'a key ignores its holders',
    in: 'tock.turn_gates',
    find: 'v_policy.gate_limit) end - pg_catalog.cardinality(v_next.inside);',
    replace: 'v_policy.gate_limit) end;',
    caught: [
      'sql/features/concurrency/concurrency-load.test.ts',
      'no more tasks of a key than its limit run, whatever eight workers do, and all tasks end',
    ],
  },
  {
    name: 'two transactions admit through one key at once',
    in: 'tock.lock_gates',
    find: 'order by g.queue, g.gate for update skip locked);',
    replace: 'order by g.queue, g.gate);',
    caught: [
      'sql/features/concurrency/concurrency-load.test.ts',
      'no more tasks of a key than its limit run, whatever eight workers do, and all tasks end',
    ],
  },
  {
    name: 'a key admits the last that came',
    in: 'tock.turn_gates',
    find: 'order by w.queue, w.gate, w.ticket limit v_free',
    replace: 'order by w.ticket desc limit v_free',
    caught: [
      'sql/features/concurrency/concurrency-keys.test.ts',
      'tasks of one key start one at a time, in the order of enqueueing',
    ],
  },
  {
    name: 'a key is free while a claim under way has its holder',
    in: 'tock.still_inside',
    find: 'continue when tock.never_starts(v_at.current_id, p_lock);',
    replace: 'continue;',
    caught: ['sql/features/concurrency/admissions.test.ts', 'was cancelled meanwhile'],
  },
  {
    name: 'the end of a task frees no key',
    in: 'tock.open_named_gates',
    find: "if v_gates <> '{}' then perform tock.open_gates(v_queues, v_gates, p_wait); end if;",
    replace: '',
    caught: ['sql/features/concurrency/concurrency-keys.test.ts', 'is done'],
  },
  {
    name: 'a part of a lease that is completed frees no key',
    in: 'tock.complete_runs',
    find: "perform tock.after_runs_ended(v_epoch, v_ended); end if; refused := '{}';",
    replace: "null; end if; refused := '{}';",
    caught: ['sql/features/concurrency/concurrency-keys.test.ts', 'is done with a result'],
  },
  {
    name: 'a retry gives up the key that it may keep',
    in: 'tock.still_inside',
    find: 'if not (p_keep or v_waits.goes_on) then',
    replace: 'if true then',
    caught: [
      'sql/features/concurrency/concurrency-keys.test.ts',
      'a retry that waits holds the key, and runs when its time has come',
    ],
  },
  {
    name: 'a key is forgotten that a task came to meanwhile',
    in: 'tock.tidy_gates',
    find: 'continue when v_gate.gate is null or not tock.is_idle_gate(v_gate);',
    replace: 'continue when v_gate.gate is null;',
    caught: [
      'sql/features/concurrency/locks.test.ts',
      'stay when a task is enqueued while others are pruned',
    ],
  },
];
