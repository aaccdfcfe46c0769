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
    caught: ['sql/hot.test.ts', 'a claim of one passes over a cancelled task'],
  },
  {
    ...hot,
    name: 'a task appended at once takes no slot lock',
    find: 'not pg_catalog.pg_try_advisory_xact_lock(tock.lock_space(), 1073741824 + v_slot)',
    replace: 'false',
    caught: ['sql/hot.test.ts', 'single tasks of transactions that are open at once'],
  },
  {
    ...hot,
    name: 'a task is appended at once to a stream that sleeps',
    find: 't.slot = v_slot and t.awake',
    replace: 't.slot = v_slot',
    caught: ['sql/hot.test.ts', 'a single task wakes its stream'],
  },
  {
    ...hot,
    name: 'a task is appended at once below the newest run',
    find: 'and s.last_value >= coalesce((select r.position from tock.runs_%2$s r where r.stream = t.number\n            order by r.stream desc, r.position desc limit 1), 0)\n',
    replace: '',
    caught: ['sql/hot.test.ts', 'a single task is not accepted below the newest run'],
  },
  {
    ...hot,
    name: 'a task of any size is appended at once',
    find: ' and q.max_payload_bytes >= v_bytes',
    replace: '',
    caught: ['sql/hot.test.ts', 'a single task with too large a payload'],
  },
  {
    ...hot,
    name: 'a lease that failed in part is done as a whole',
    find: 'v_runs := (%5$s);',
    replace: '',
    caught: ['sql/hot.test.ts', 'a whole completion counts what did not fail before'],
  },
];
