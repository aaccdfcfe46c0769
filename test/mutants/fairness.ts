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
    in: 'tock.find_streams',
    find: 't.start_after, t.lane from tock.streams t where t.queue = p_queue and t.awake and t.number <> all (p_seen) order by t.priority, (t.lane & 512 <> 0) = (p_seed % 24 <> 0),',
    replace:
      't.start_after, t.lane from tock.streams t where t.queue = p_queue and t.awake and t.number <> all (p_seen) order by t.priority,',
    caught: ['sql/tenants.test.ts', 'what comes in bulk is served last'],
  },
];
