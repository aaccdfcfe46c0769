import type { Mutant } from './mutants.ts';

/** Backoff, attempts and lost runs. */
export const retry: Mutant[] = [
  {
    name: 'a fatal failure is tried again',
    in: 'tock.fail',
    find: "coalesce((v_item ->> 'fatal')::boolean, false)",
    replace: 'false',
    caught: ['sql/kernel/finish/fail.test.ts', 'a fatal failure is the end'],
  },
  {
    name: 'the backoff has no cap',
    in: 'tock.backoff_seconds',
    find: 'least(p_policy.backoff_cap_seconds,',
    replace: 'least(1e9,',
    caught: ['sql/kernel/finish/fail.test.ts', 'backoff grows by its factor to its cap'],
  },
  {
    name: 'a lost run counts as a failed attempt',
    in: 'tock.next_attempt_at',
    find: 'p_attempt - p_lost < coalesce',
    replace: 'p_attempt < coalesce',
    caught: ['sql/kernel/finish/reap.test.ts', 'lost runs are counted apart'],
  },
  {
    name: "a worker's delay does not replace the backoff",
    in: 'tock.next_attempt_at',
    find: "interval '1 second' * greatest(coalesce(p_seconds, tock.backoff_seconds(tock.own_policy(p_policy, p_options)",
    replace:
      "interval '1 second' * greatest(greatest(p_seconds, tock.backoff_seconds(tock.own_policy(p_policy, p_options)",
    caught: ['sql/kernel/finish/retry.test.ts', 'a delay that the worker gives'],
  },
];
