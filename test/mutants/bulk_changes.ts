import type { Mutant } from './mutants.ts';

/** Rerun, redrive, move, purge and erase. */
export const bulkChanges: Mutant[] = [
  {
    name: 'each redrive of a dead task makes another task',
    in: 'tock.run_again',
    find: 'limit 1), 0) else 1 end, tock.id_at(p.next_position, p.next_stream)',
    replace:
      'limit 1), 0) else (p.next_position & 2147483647)::integer end, tock.id_at(p.next_position, p.next_stream)',
    caught: [
      'sql/features/bulk_changes/bulk-changes-races.test.ts',
      'a dead task that two callers redrive concurrently runs again once',
    ],
  },
  {
    name: 'an erased task is run again without its payload',
    in: 'tock.run_again',
    find: 'where r.bytes >= 0',
    replace: '',
    caught: ['sql/features/reruns/rerun.test.ts', 'an erased task is not rerun'],
  },
  {
    name: 'a dead task that was run again is redriven again',
    in: 'tock.dead_groups',
    find: 'and (select x.of_id from tock.reruns x where x.of_id = r.id limit 1) is null',
    replace: '',
    caught: ['sql/features/reruns/redrive.test.ts', 'dead tasks are redriven once'],
  },
  {
    name: 'a purge does not take the lock of the stream',
    in: 'tock.purge_stream',
    find: 'if not tock.take_stream(p_stream) then',
    replace: 'if false then',
    caught: [
      'sql/features/bulk_changes/purge.test.ts',
      'a purge skips and counts a stream with an open claim',
    ],
  },
  {
    name: 'a queue is dropped while a task of it runs',
    in: 'tock.drop_queue',
    find: 'dropped := ready = 0 and running = 0 and waiting = 0;',
    replace: 'dropped := ready = 0 and waiting = 0;',
    caught: ['sql/features/bulk_changes/purge.test.ts', 'a queue is dropped when it is paused'],
  },
];
