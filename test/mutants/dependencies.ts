import type { Mutant } from './mutants.ts';

/** Tasks that wait for parents. */
export const dependencies: Mutant[] = [
  {
    name: 'the completion of one run tells no child',
    in: 'tock.end_lease',
    find: 'where x.stream = l.stream and x.position = l.last_position limit 1)',
    replace: 'where false limit 1)',
    caught: [
      'sql/features/dependencies/dependencies.test.ts',
      'a task is ready when its parent is completed',
    ],
  },
  {
    name: 'the end of a single run tells no child',
    in: 'tock.end_runs',
    find: 'perform tock.notify_dependents(array(select tock.id_at(e.position, e.stream) from unnest(p_ended) e));',
    replace: '',
    caught: [
      'sql/features/dependencies/dependencies.test.ts',
      'a task is ready when its parent is completed',
    ],
  },
  {
    name: 'a dead parent counts as done',
    in: 'tock.next_parents',
    find: "when e.state = 'done' or w.options ->> 'on_parent_failure' = 'run' then",
    replace: "when e.state = 'done' or e.state = 'dead' then",
    caught: ['sql/features/dependencies/dependencies.test.ts', 'when a parent'],
  },
  {
    name: 'a cancelled parent that a claim may have counts as over',
    in: 'tock.final_states_of',
    find: 'or tock.will_not_start(f.current_id, p_lock)',
    replace: 'or true',
    caught: [
      'sql/features/dependencies/late-commits.test.ts',
      'a cancelled parent that is being claimed',
    ],
  },
  {
    name: 'a child starts when one of its parents is over',
    in: 'tock.check_parents',
    find: 'where o.verdict is null and o.upto = 0);',
    replace: 'where o.verdict is null);',
    caught: [
      'sql/features/dependencies/dependencies-load.test.ts',
      'ten thousand parents of one child',
    ],
  },
  {
    name: 'a cycle is accepted',
    in: 'tock.refuse_cycle',
    find: 'if v_done < p_tasks then',
    replace: 'if false then',
    caught: ['sql/features/dependencies/dependencies.test.ts', 'refused: '],
  },
  {
    name: 'a parent goes on before its children have ended',
    in: 'tock.begin_wait',
    find: 'due_after_parents = greatest(pg_catalog.clock_timestamp(), v_run_at),',
    replace: 'due_after_parents = null, due_at = pg_catalog.clock_timestamp(),',
    caught: [
      'sql/features/dependencies/spawn.test.ts',
      'a task waits for its children and continues',
    ],
  },
  {
    name: 'a task waits for itself',
    in: 'tock.refuse_self_wait',
    find: 'if tock.position_of(v_at.current_id) = p_position then',
    replace: 'if false then',
    caught: ['sql/features/dependencies/spawn-cycles.test.ts', 'a completion is refused'],
  },
];
