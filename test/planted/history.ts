import type { Bug } from './bugs.ts';

const kept = 'a task keeps its backoff through all that happens to it';

/** Retries, progress, results, and what is said of the past. */
export const history: Bug[] = [
  {
    name: 'a linear backoff does not grow',
    file: 'routines/39_retry.sql',
    find: "when 'linear' then p_failures",
    replace: "when 'linear' then 1",
    caught: ['sql/retry.test.ts', '5 minutes times the attempt'],
  },
  {
    name: 'a fixed backoff grows',
    file: 'routines/39_retry.sql',
    find: "when 'fixed' then 1",
    replace: "when 'fixed' then p_failures",
    caught: ['sql/retry.test.ts', 'a fixed backoff is the same'],
  },
  {
    name: 'all of a lease wait for the backoff of the first',
    file: 'routines/43_fail.sql',
    find: 'v_options -> v_run.position::text',
    replace: 'v_options -> v_runs[1].position::text',
    caught: ['sql/retry.test.ts', 'tasks of one lease wait each'],
  },
  {
    name: "a worker's delay is taken for a base",
    file: 'routines/39_retry.sql',
    find: 'coalesce(p_seconds, tock.backoff_seconds(',
    replace: 'greatest(p_seconds, tock.backoff_seconds(',
    caught: ['sql/retry.test.ts', 'a delay that the worker gives'],
  },
  {
    name: 'the options of a task are lost at its promotion',
    file: 'routines/50_promote.sql',
    find: 'p.bytes, p.payload, p.options\n    from placed p',
    replace: 'p.bytes, p.payload, null\n    from placed p',
    caught: ['sql/retry.test.ts', kept],
  },
  {
    name: 'the options of a run that is given back or lost are gone',
    file: 'routines/40_end_runs.sql',
    find: 'g.bytes, g.payload, g.options\n      from going_on g where g.next_stream is not null',
    replace: 'g.bytes, g.payload, null\n      from going_on g where g.next_stream is not null',
    caught: ['sql/retry.test.ts', kept],
  },
  {
    name: 'the options of a run that is changed are gone',
    file: 'routines/64_change_parts.sql',
    find: 'p.payload, p.options\n        from replacing p where p.next_stream <> 0',
    replace: 'p.payload, null\n        from replacing p where p.next_stream <> 0',
    caught: ['sql/retry.test.ts', kept],
  },
  {
    name: 'a backoff grows by lost runs too',
    file: 'routines/39_retry.sql',
    find: 'tock.own_policy(p_policy, p_options), p_attempt - p_lost)',
    replace: 'tock.own_policy(p_policy, p_options), p_attempt)',
    caught: ['sql/retry.test.ts', kept],
  },
  {
    name: 'a run whose time is up counts as lost',
    file: 'routines/51_reap.sql',
    find: 'case when t.up then r.lost else r.lost + 1 end)',
    replace: 'r.lost + 1)',
    caught: ['sql/retry.test.ts', 'a run whose time is up has failed'],
  },
  {
    name: 'lost runs use up attempts',
    file: 'routines/39_retry.sql',
    find: 'case when p_attempt - p_lost < coalesce',
    replace: 'case when p_attempt < coalesce',
    caught: ['sql/retry.test.ts', 'is not worn out by workers'],
  },
  {
    name: 'a task that kills its workers does not say so',
    file: 'routines/51_reap.sql',
    find: 'when not t.up and r.lost + 1 >= p.max_lost',
    replace: 'when false',
    caught: ['sql/retry.test.ts', 'that kills its workers is dead'],
  },
  {
    name: 'a task that kills its workers lives for ever',
    file: 'routines/51_reap.sql',
    find: 'when r.lost + 1 < p.max_lost then',
    replace: 'when true then',
    caught: ['sql/retry.test.ts', 'that kills its workers is dead'],
  },
  {
    name: 'jitter adds to a wait',
    file: 'routines/39_retry.sql',
    find: '(1 - p_policy.backoff_jitter *',
    replace: '(1 + p_policy.backoff_jitter *',
    caught: ['sql/retry.test.ts', 'jitter takes off'],
  },
  {
    name: 'results are kept all the same',
    file: 'routines/42_complete.sql',
    find: 'and not q.keep_results)',
    replace: 'and false)',
    caught: ['sql/results.test.ts', 'a queue without keep_results takes'],
  },
  {
    name: 'results are kept nowhere',
    file: 'routines/42_complete.sql',
    find: 'case when v_keep then v_result end',
    replace: 'null',
    caught: ['sql/results.test.ts', 'a queue keeps results unless'],
  },
  {
    name: 'a result that was kept before is held against a completion',
    file: 'routines/42_complete.sql',
    find: 'and coalesce(v_keep, true)',
    replace: '',
    caught: ['sql/results.test.ts', 'what was decided before a completion'],
  },
];
