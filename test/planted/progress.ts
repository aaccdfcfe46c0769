import type { Bug } from './bugs.ts';

/** What workers say of how far their runs are. */
export const told: Bug[] = [
  {
    name: 'a stale worker says how far it is',
    file: 'routines/44_release_extend.sql',
    find: "where %2$s and coalesce(l.closed_at, 'infinity') = 'infinity'",
    replace: 'where %2$s',
    caught: ['sql/progress.test.ts', 'a worker whose lease is over'],
  },
  {
    name: 'what is said of all is kept of what has ended',
    file: 'routines/44_progress.sql',
    find: 'l where %s and l.closed_at is null',
    replace: 'l where %s',
    caught: ['sql/progress.test.ts', 'what has ended and what is'],
  },
  {
    name: 'what is said of all is shown on runs that ended before',
    file: 'routines/44_progress.sql',
    find: 'perform tock.keep_progress_of_ended(p_lease, p_epoch);',
    replace: 'null;',
    caught: [
      'sql/progress-ended.test.ts',
      'what is said of all is not said of the runs that have ended',
    ],
  },
  {
    name: 'progress is kept of runs that have ended',
    file: 'routines/44_progress.sql',
    find: 'from unnest(v_runs) r where r.state is null\n  order by',
    replace: 'from unnest(v_runs) r\n  order by',
    caught: ['sql/progress-kept.test.ts', 'of a run that is being completed'],
  },
  {
    name: 'progress of a run is refused nobody',
    file: 'routines/44_progress.sql',
    find: 'array(select r.n from unnest(v_runs) r where r.state is null)',
    replace: 'array(select r.n from unnest(v_runs) r)',
    caught: ['sql/progress.test.ts', 'what has ended and what is'],
  },
  {
    name: 'a run that is named twice is told of twice',
    file: 'routines/44_progress.sql',
    find: 'select distinct on (r.position, r.stream) r.position',
    replace: 'select r.position',
    caught: ['sql/progress.test.ts', 'the next attempt begins anew'],
  },
  {
    name: 'what was said of all goes before what was said of one',
    file: 'routines/60_task.sql',
    find: 'order by g.told_at desc limit 1',
    replace: 'order by g.of_all desc limit 1',
    caught: ['sql/progress.test.ts', 'what is said of all runs and what of one'],
  },
  {
    name: "another run's progress is shown where it is the first of its lease",
    file: 'routines/60_task.sql',
    find: 'and (g.of_all or g.position = r.position)',
    replace: '',
    caught: ['sql/progress.test.ts', 'what is said of the first run'],
  },
  {
    name: 'progress stays when its epoch goes',
    file: 'routines/73_retain.sql',
    find: 'if tock.forget_progress(100000) > 0 then',
    replace: 'if false then',
    caught: ['sql/progress-kept.test.ts', 'in an epoch that is over'],
  },
  {
    name: 'progress goes with whichever epoch goes',
    file: 'routines/44_progress.sql',
    find: 'where k.position < v_oldest order',
    replace: 'where k.position > v_oldest order',
    caught: ['sql/progress-kept.test.ts', 'in an epoch that is over'],
  },
  {
    name: 'notes are not erased',
    file: 'routines/65_erase.sql',
    find: 'and (g.of_all or g.position = $2)',
    replace: 'and false',
    caught: ['sql/progress-kept.test.ts', 'erasing a task takes its notes'],
  },
];
