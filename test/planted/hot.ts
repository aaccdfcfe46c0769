import type { Bug } from './bugs.ts';

const hot: Pick<Bug, 'file'> = { file: 'routines/45_hot.sql' };

/** What is written anew for each epoch: the commonest calls. */
export const hots: Bug[] = [
  {
    ...hot,
    name: 'a claim of one takes what is cancelled',
    find: /\n\s+and \(select m\.position from tock\.marks_%2\$s m where m\.stream = v_next\.stream[\s\S]*?is null/,
    replace: '',
    caught: ['sql/hot.test.ts', 'a claim of one passes over a cancelled task'],
  },
  {
    ...hot,
    name: 'a claim of one leaves what is due',
    find: ' and not (p_alone and %9$s)',
    replace: '',
    caught: ['sql/hot.test.ts', 'claims of one that say that they are alone promote'],
  },
  {
    ...hot,
    name: 'a claim of one stays in the epoch it was written for',
    find: 'and (select %1$s from tock.positions s) and not (p_alone',
    replace: 'and not (p_alone',
    caught: ['sql/hot.test.ts', 'claims of one go on into the next epoch'],
  },
  {
    ...hot,
    name: 'a claim of one locks a stream before it knows that it is in its epoch',
    find: '(select %1$s from tock.positions s)',
    replace: "pg_catalog.pg_sequence_last_value('tock.positions') < %11$s",
    caught: ['sql/hot.test.ts', 'a claim of one past its epoch holds no stream'],
  },
  {
    name: 'a claim of one calls what others hold empty',
    file: 'routines/31_claim_statements.sql',
    find: "else pg_catalog.set_config('tock.claim', 'busy', true) is null end",
    replace: 'else false end',
    caught: ['sql/locks.test.ts', 'beside a stranger claims still take turns'],
  },
  {
    name: 'a lease of one run is held by several callers',
    file: 'routines/41_lease_parts.sql',
    find: "when p_one then 'no key update'",
    replace: "when p_one then 'share'",
    caught: ['sql/hot.test.ts', 'a lease of one run that fails while somebody'],
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
    find: 'and s.last_value >= coalesce((select r.position from tock.runs_%2$s r where r.stream = t.number\n              order by r.stream desc, r.position desc limit 1), 0)\n',
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
