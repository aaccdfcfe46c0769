import type { Mutant } from './mutants.ts';

/** Claims from several queues, and claim_for_worker(). */
export const multiClaim: Mutant[] = [
  {
    name: 'each queue gives as much as the limit',
    in: 'tock.claim_any',
    find: 'p_limit => v_left',
    replace: 'p_limit => p_limit',
    caught: [
      'sql/features/multi_claim/claim-any.test.ts',
      'a claim takes all tasks of the first queue',
    ],
  },
  {
    name: 'a worker that has a lease is given another',
    in: 'tock.claim_for_worker',
    find: 'if v_own.token is not null then',
    replace: 'if false then',
    caught: [
      'sql/features/multi_claim/claim-for-worker.test.ts',
      'a worker that claims one at a time',
    ],
  },
  {
    name: 'two claims of one worker do not wait for each other',
    in: 'tock.claim_for_worker',
    find: 'o.worker = p_worker for update;',
    replace: 'o.worker = p_worker;',
    caught: [
      'sql/features/multi_claim/claim-for-worker.test.ts',
      'sixteen concurrent calls of a worker get one task',
    ],
  },
];
