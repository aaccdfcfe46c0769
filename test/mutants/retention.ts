import type { Mutant } from './mutants.ts';

/** Segments that are verified, archived and dropped. */
export const retention: Mutant[] = [
  {
    name: 'verification requeues only runs outside of every lease',
    in: 'tock.requeue_missing_runs',
    find: 'or (j.excess > 0 and (j.late or j.excess <> j.late_ones))',
    replace: '',
    caught: ['sql/kernel/retention/verify.test.ts', 'a run that appeared within a leased range'],
  },
  {
    name: 'a segment is dropped before it was verified',
    in: 'tock.is_past_retention',
    find: 'and p_segment.verified_at is not null',
    replace: '',
    caught: [
      'sql/kernel/retention/verify.test.ts',
      'a segment is not dropped before it is verified',
    ],
  },
  {
    name: 'a segment is dropped by the shortest retention in it',
    in: 'tock.is_past_retention',
    find: "interval '1 second' * coalesce((select max((tock.policy(q)).retention_seconds)",
    replace: "interval '1 second' * coalesce((select min((tock.policy(q)).retention_seconds)",
    caught: [
      'sql/kernel/retention/expiry.test.ts',
      'tasks that ended longer ago than the retention',
    ],
  },
  {
    name: 'a drop does not back off',
    in: 'tock.drop_expired_segments',
    find: "and coalesce(e.drop_after, '-infinity') < pg_catalog.now()",
    replace: '',
    caught: ['sql/kernel/retention/drop.test.ts', 'a drop waits for no reader'],
  },
  {
    name: 'a task is forgotten with the segment of its first run',
    in: 'tock.prepare_segment_drop',
    find: "execute pg_catalog.format('select tock.redirect_run_ids_%s($1)', p_segment) into v_done using p_limit;",
    replace: 'v_done := 0;',
    caught: ['sql/kernel/retention/prepare-drop.test.ts', 'ready, running and done'],
  },
  {
    name: 'a segment is dropped before its archive is verified',
    in: 'tock.may_be_dropped',
    find: "where a.segment = p_segment and a.state = 'verified')",
    replace: 'where a.segment = p_segment)',
    caught: ['archive/faults.test.ts', 'is detected, and no segment is dropped'],
  },
  {
    name: 'a segment is dropped that was not counted',
    in: 'tock.drop_expired_segments',
    find: 'perform tock.collect_metrics();',
    replace: '',
    caught: [
      'sql/operations/metrics/series.test.ts',
      'runs counted one at a time have the same sums, over segment boundaries and after segments are dropped',
    ],
  },
];
