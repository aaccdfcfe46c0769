import type { Mutant } from './mutants.ts';

/** Metrics, lists and explanations. */
export const read: Mutant[] = [
  {
    name: 'runs that were counted are counted again',
    in: 'tock.collect_batch',
    find: 'where r.stream = b.number and r.position > b.runs_to',
    replace: 'where r.stream = b.number and r.position >= b.runs_to',
    caught: [
      'sql/operations/metrics/series.test.ts',
      'each event of a task is counted once, whenever metrics are collected',
    ],
  },
  {
    name: 'a run that has ended is listed as running',
    in: 'tock.running',
    find: 'and (select e.position from tock.results_%1$s e where e.stream = r.stream and e.position = r.position) is null order by',
    replace: 'order by',
    caught: ['sql/read/leases.test.ts', 'running() shows each open lease'],
  },
  {
    name: 'the doctor fails where a part of it does',
    in: 'tock.examine',
    find: "d.hint from tock.%I() d', v_part); exception when others then",
    replace: "d.hint from tock.%I() d', v_part); exception when division_by_zero then",
    caught: [
      'sql/operations/doctor/doctor.test.ts',
      'a check that doctor() cannot run is a finding, and the others run',
    ],
  },
];
