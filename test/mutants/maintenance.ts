import type { Mutant } from './mutants.ts';

/** Maintenance jobs: one at a time, recorded and bounded. */
export const maintenance: Mutant[] = [
  {
    name: 'a job runs twice at once',
    in: 'tock.run_maintenance',
    find: "not pg_catalog.pg_try_advisory_xact_lock(tock.lock_space(), tock.named_key('maintenance_job', p_job)) or (… for update skip locked) is null",
    replace: 'false',
    caught: [
      'sql/operations/maintenance.test.ts',
      'a maintenance job that runs elsewhere does not run twice',
    ],
  },
  {
    name: 'a job waits for its row',
    in: 'tock.run_maintenance',
    find: 'for update skip locked) is null',
    replace: ') is null',
    caught: ['sql/operations/piggyback.test.ts', 'whose rows an open transaction'],
  },
  {
    name: "a failing job's error is not recorded",
    in: 'tock.run_maintenance',
    find: 'when others or query_canceled then if not v_known',
    replace: "when sqlstate 'TK999' then if not v_known",
    caught: [
      'sql/operations/maintenance.test.ts',
      'is recorded with its error and rolled back, and the others run',
    ],
  },
  {
    name: 'a job on the way of a claim goes on when the claim is cancelled',
    in: 'tock.run_maintenance',
    find: "or (sqlstate = '57014' and p_seconds = 0 and not tock.is_out_of_time()) then",
    replace: 'then',
    caught: ['sql/operations/piggyback.test.ts', 'a query cancel ends the claim'],
  },
];
