import type { Mutant } from './mutants.ts';

/** Tenants within a queue. */
export const fairness: Mutant[] = [
  {
    name: 'a heavy tenant keeps its lane',
    in: 'tock.lane_of',
    find: 'while v_lane < 448 and',
    replace: 'while false and',
    caught: ['sql/tenants.test.ts', 'a tenant that drips its backlog'],
  },
  {
    name: 'tasks that come in bulk are served like the others',
    in: 'tock.cursors_statement',
    find: '(t.lane & 512 <> 0) = ($2 %% 24 <> 0),',
    replace: '',
    caught: ['sql/tenants.test.ts', 'what comes in bulk is served last'],
  },
];
