import type { Mutant } from './mutants.ts';

/** Streams that are put to rest and wake. */
export const streams: Mutant[] = [
  {
    name: 'a writer with an old snapshot misses that its stream fell asleep',
    in: 'tock.open_stream',
    find: 's.number = v_number for share',
    replace: 's.number = v_number',
    caught: [
      'sql/kernel/log/idle-streams.test.ts',
      "a task from a snapshot older than its stream's rest",
    ],
  },
  {
    name: 'a writer does not wake its stream',
    in: 'tock.open_stream',
    find: 'if not v_awake then',
    replace: 'if false then',
    caught: ['sql/kernel/log/idle-streams.test.ts', 'a stream at rest wakes with the next task'],
  },
  {
    name: 'the append of one task goes to a sleeping stream',
    in: 'tock.append_one',
    find: 't.slot = v_slot and t.awake',
    replace: 't.slot = v_slot',
    caught: ['sql/kernel/claim/claim-one.test.ts', 'a single task activates its stream'],
  },
  {
    name: 'rest() takes no slot lock',
    in: 'tock.deactivate_streams',
    find: 'tock.wait_for_lock(1073741824 + v_slot)',
    replace: 'true',
    caught: ['sql/kernel/log/idle-streams.test.ts', 'a stream with an open writer stays awake'],
  },
  {
    name: 'a stream falls asleep without its end recorded',
    in: 'tock.deactivate_streams',
    find: 'awake = false, start_after = greatest(s.start_after, coalesce((select l.last_position … limit 1), 0)) where s.number = any',
    replace: 'awake = false where s.number = any',
    caught: ['faults/sequence.test.ts', 'a sequence behind streams at rest'],
  },
];
