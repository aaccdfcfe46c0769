import type { Mutant } from './mutants.ts';

/** Pipelines. */
export const pipelines: Mutant[] = [
  {
    name: 'a lease with a pipeline is closed as a whole',
    in: 'tock.end_lease',
    find: 'if v_has_options and exists ( select from tock.leases_{segment} l',
    replace: 'if false and exists ( select from tock.leases_{segment} l',
    caught: [
      'sql/features/pipelines/pipelines.test.ts',
      'a whole lease is completed without results',
    ],
  },
  {
    name: 'attempts are counted on from stage to stage',
    in: 'tock.completion_of',
    find: "row(v_run.stream, v_run.position, 'done', v_result, null, case when v_next.waits then 'infinity' when v_next.queue is not null then '-infinity'::timestamptz end, 1, 0,",
    replace:
      "row(v_run.stream, v_run.position, 'done', v_result, null, case when v_next.waits then 'infinity' when v_next.queue is not null then '-infinity'::timestamptz end, v_run.attempt, v_run.lost,",
    caught: [
      'sql/features/pipelines/pipelines.test.ts',
      'a completion of a reaped lease moves no task to the next stage',
    ],
  },
  {
    name: 'a repeated completion may name another stage',
    in: 'tock.was_ended_so',
    find: "coalesce(tock.next_queue_of(p_run.next_id), '') = coalesce(p_stage, '')",
    replace: 'true',
    caught: ['sql/features/pipelines/pipelines.test.ts', 'a repeated completion answers the same'],
  },
];
