import type { System } from '../types.ts';
import { queueOf, setQueue, tock } from './tock.ts';

/** Tock as a worker calls it that goes from task to task: one statement ends a lease and claims what comes next. */
export const tockNext: System = {
  ...tock,
  name: 'tock (next)',
  settings: [
    'claim + complete: tock.next with the lease of the call before: one statement, which commits synchronously',
  ],
  cycle(shape) {
    // Before the first claim, and after an empty one, :lease is no open lease. Its end is then lost, and changes nothing.
    const ends = `('[{"lease": "' || :lease || '"}]')::jsonb`;
    const args = `${queueOf(shape)}, ${ends}, p_limit => ${shape.batch}, p_own_transaction => true`;
    const next = `select c.lease, c.id, c.payload from tock.next(${args}) n cross join unnest(n.claimed) c \\aset`;
    return { by: 'pgbench', script: `${setQueue(shape)}${next}\n` };
  },
};
