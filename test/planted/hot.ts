import type { Bug } from './bugs.ts';

const hot: Pick<Bug, 'file'> = { file: 'routines/45_hot.sql' };

/** What is written anew for each epoch: the commonest calls. */
export const hots: Bug[] = [
  {
    ...hot,
    name: 'a claim of one does not look whether its cursor moved',
    find: ' and (%7$s) <= v_at.after_position',
    replace: '',
    caught: ['sql/claim-load.test.ts', 'eight workers at limit 1'],
  },
  {
    ...hot,
    name: 'a claim of one takes what is cancelled',
    find: ' or v_run.marked is not null',
    replace: '',
    caught: ['sql/cancel.test.ts', 'a cancelled task is never handed out'],
  },
  {
    ...hot,
    name: 'a task appended at once takes no slot lock',
    find: 'not pg_catalog.pg_try_advisory_xact_lock(tock.lock_space(), 1073741824 + v_slot)',
    replace: 'false',
    caught: ['sql/writers.test.ts', 'a task in an open transaction holds up nobody'],
  },
  {
    ...hot,
    name: 'a task is appended at once to a stream that sleeps',
    find: 't.slot = v_slot and t.awake',
    replace: 't.slot = v_slot',
    caught: ['sql/rest.test.ts', 'a sleeping stream wakes with the next task'],
  },
  {
    ...hot,
    name: 'a task is appended at once below the newest run',
    find: 'and s.last_value >= coalesce((select r.position from tock.runs_%2$s r where r.stream = t.number\n            order by r.stream desc, r.position desc limit 1), 0)\n',
    replace: '',
    caught: ['faults/sequence.test.ts', 'a sequence set back to just below what is stored'],
  },
  {
    ...hot,
    name: 'a task of any size is appended at once',
    find: ' and q.max_payload_bytes >= v_bytes',
    replace: '',
    caught: ['sql/enqueue-refusals.test.ts', 'a payload above the queue'],
  },
  {
    ...hot,
    name: 'a lease that failed in part is done as a whole',
    find: 'v_runs := (%5$s);',
    replace: '',
    caught: ['sql/complete.test.ts', 'a whole completion counts what is done'],
  },
];
