import type { Mutant } from './mutants.ts';

/** Enqueue: slots, positions and payloads. */
export const append: Mutant[] = [
  {
    name: 'a writer takes no slot lock',
    in: 'tock.take_slot',
    find: 'pg_catalog.pg_try_advisory_xact_lock(tock.lock_space(), 1073741824 + (v_first + v_step) % 4096)',
    replace: 'true',
    caught: [
      'sql/kernel/enqueue/open-transactions.test.ts',
      'a task in an open transaction delays no other task',
    ],
  },
  {
    name: 'the append of one task takes no slot lock',
    in: 'tock.append_one',
    find: 'not pg_catalog.pg_try_advisory_xact_lock(tock.lock_space(), 1073741824 + v_slot)',
    replace: 'false',
    caught: [
      'sql/kernel/claim/claim-one.test.ts',
      'single tasks of concurrent transactions lie in streams of their own',
    ],
  },
  {
    name: 'a large call takes one slot only',
    in: 'tock.append_any',
    find: 'tock.take_slot(v_slots[v_chunk - 1] + 1)',
    replace: 'v_slots[1]',
    caught: ['sql/kernel/enqueue/enqueue.test.ts', 'a large call is spread over slots'],
  },
  {
    name: 'a task is appended below the newest run of its stream',
    in: 'tock.append_one',
    find: 'and s.last_value >= coalesce((select r.position from tock.runs_%2$s r where r.stream = t.number order by r.stream desc, r.position desc limit 1), 0)',
    replace: '',
    caught: ['sql/kernel/claim/claim-one.test.ts', 'a single task is refused below the newest run'],
  },
  {
    name: 'one task is appended at a position that its session has cached',
    in: 'tock.append_one',
    find: 'n.position > n.last_value and',
    replace: '',
    caught: ['faults/sequence.test.ts', 'a sequence that caches positions accepts nothing below'],
  },
  {
    name: 'positions are assigned two by two',
    in: 'tock.positions',
    find: 'cache 1 maxvalue',
    replace: 'cache 1 increment 2 maxvalue',
    caught: [
      'sql/conventions.test.ts',
      'positions are assigned one by one: the sequence has no cache and does not cycle',
    ],
  },
  {
    name: 'an id that was promoted is given to another task',
    in: 'tock.append_any',
    find: 'perform tock.check_new_ids(v_ids);',
    replace: '',
    caught: ['faults/sequence.test.ts', 'a sequence set back and caught up within a call'],
  },
  {
    name: 'a task option is accepted and lost',
    in: 'tock.extended_options',
    find: "('push_url', 'url', null, null, null)",
    replace: "('push_url', 'url', null, null, null), ('planted', 'text', 1, 9, null)",
    caught: [
      'sql/kernel/enqueue/options.test.ts',
      'each option of a task is stored with its runs, or is listed as needed only by the enqueue',
    ],
  },
];
