import type { Mutant } from './mutants.ts';

/** Delayed tasks that become ready. */
export const promote: Mutant[] = [
  {
    name: 'the sweep does not read from the bottom',
    in: 'tock.promote',
    find: 'if not p_sweep then',
    replace: 'if true then',
    caught: [
      'sql/kernel/delay/promote.test.ts',
      'a task that commits below the newest one promoted',
    ],
  },
  {
    name: 'promotion follows ids, not due times',
    in: 'tock.make_ready',
    find: 'order by d.due_at, d.position',
    replace: 'order by d.position',
    caught: ['sql/kernel/delay/promote.test.ts', 'tasks come out of waiting in the order'],
  },
  {
    name: 'a task that was cancelled meanwhile is promoted',
    in: 'tock.promote',
    find: 'if pg_catalog.cardinality(v_tasks) > 0 then v_off :=',
    replace: 'if false then v_off :=',
    caught: [
      'sql/kernel/change/overrides-races.test.ts',
      'a task cancelled in an open transaction, and meanwhile',
    ],
  },
  {
    name: 'a promoted task loses its options',
    in: 'tock.make_ready',
    find: 'p.tenant, p.created_at, p.bytes, p.payload, p.options from placed p',
    replace: 'p.tenant, p.created_at, p.bytes, p.payload, null from placed p',
    caught: [
      'sql/kernel/finish/lost-runs.test.ts',
      'a task keeps its own backoff through losses, releases and changes',
    ],
  },
  {
    name: 'a writer that commits after a sweep is not waited for',
    in: 'tock.sweep_may_be_late',
    find: "not p_writers <@ tock.writers_of('tock.waiting')",
    replace: 'false',
    caught: ['sql/kernel/delay/next-wake.test.ts', 'long after a sweep wakes at once'],
  },
];
