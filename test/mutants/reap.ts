import type { Mutant } from './mutants.ts';

/** Expired leases that are taken back. */
export const reap: Mutant[] = [
  {
    name: 'the reaper ignores results',
    in: 'tock.reap_segment',
    find: 'offset 0) r where (select e.position from tock.results_{segment} e where e.stream = r.stream and e.position = r.position) is null order by r.position)',
    replace: 'offset 0) r order by r.position)',
    caught: ['sql/kernel/finish/reap.test.ts', 'a task done before its lease ended'],
  },
  {
    name: 'the reaper does not lock the leases',
    in: 'tock.reap_segment',
    find: 'order by l.leased_until limit 1000 for update skip locked',
    replace: 'order by l.leased_until limit 1000',
    caught: ['sql/kernel/finish/reap.test.ts', 'a part completed in an open transaction'],
  },
  {
    name: 'the reaper never sweeps',
    in: 'tock.reap',
    find: "coalesce(p_sweep, v_set_back or v_job.swept_at is null or v_job.swept_at < v_now - interval '1 minute'); v_from timestamptz := case when v_sweep then '-infinity' else coalesce(v_job.reached_at, '-infinity') end; v_reached",
    replace:
      "coalesce(p_sweep, v_set_back or v_job.swept_at is null or v_job.swept_at < v_now - interval '1 minute'); v_from timestamptz := coalesce(v_job.reached_at, '-infinity'); v_reached",
    caught: ['sql/kernel/finish/reap.test.ts', 'a claim that commits after its own deadline'],
  },
  {
    name: 'a lease is taken back before its time',
    in: 'tock.reap_segment',
    find: 'l.leased_until < p_now and',
    replace: "l.leased_until < p_now + interval '1 day' and",
    caught: ['sql/kernel/finish/reap.test.ts', 'a task is taken back when its lease has ended'],
  },
  {
    name: 'a run may be lost for ever',
    in: 'tock.reap_segment',
    find: 'when r.lost + 1 < p.max_lost then',
    replace: 'when true then',
    caught: ['sql/kernel/finish/reap.test.ts', 'lost runs are counted apart'],
  },
  {
    name: 'a run whose time limit is over counts as lost',
    in: 'tock.reap_segment',
    find: 'case when t.up then r.lost else r.lost + 1 end, null, null)',
    replace: 'r.lost + 1, null, null)',
    caught: ['sql/kernel/finish/lost-runs.test.ts', 'a run that exceeds its time limit has failed'],
  },
  {
    name: 'the reaper waits for concurrency keys',
    in: 'tock.reap_segment',
    find: 'where tock.lease_has_options(e.token)), {segment}, false);',
    replace: 'where tock.lease_has_options(e.token)), {segment}, true);',
    caught: [
      'sql/features/concurrency/locks.test.ts',
      'lost runs are reaped while another session has locked the rows of their keys',
    ],
  },
];
