import type { Mutant } from './mutants.ts';

/** Cancelled tasks, changed ones, and their options. */
export const overrides: Mutant[] = [
  {
    name: 'a worker is asked to stop a run that it was not given',
    in: 'tock.extend_lease',
    find: "and m.position <> all (coalesce(x.skips, '{}')) order by 1",
    replace: 'order by 1',
    caught: [
      'sql/kernel/change/cancel.test.ts',
      'a worker is not asked to stop runs that its claim skipped',
    ],
  },
  {
    name: 'a next attempt has the payload of the last one',
    in: 'tock.write_results',
    find: 'when e.payload_of is not null then',
    replace: 'when false then',
    caught: ['sql/kernel/change/change.test.ts', 'a change of a running task that is'],
  },
  {
    name: 'a changed task begins its attempts anew',
    in: 'tock.replace_runs',
    find: 'select p.next_stream, p.next_position, p.task_id, p.attempt, p.lost,',
    replace: 'select p.next_stream, p.next_position, p.task_id, 1, 0,',
    caught: ['sql/kernel/change/change.test.ts', 'a ready task that failed and was lost before'],
  },
];
