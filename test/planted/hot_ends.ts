import type { Bug } from './bugs.ts';

const hot: Pick<Bug, 'file'> = { file: 'routines/44_hot_ends.sql' };
const end: Pick<Bug, 'file'> = { file: 'routines/40_end_runs.sql' };
const over = 'lies in an epoch that is over';

/** What ends runs, written anew for each epoch, and what it shares with the slow way. */
export const hotEnds: Bug[] = [
  {
    ...hot,
    name: 'a lease of another epoch is looked for in the one in use',
    find: 'if p_epoch <> %1$s then\n        return null;\n      elsif (case',
    replace: 'if (case',
    caught: ['sql/hot-ends.test.ts', 'a lease of an epoch that is over'],
  },
  {
    ...hot,
    name: 'a lease of another epoch is taken for closed',
    find: 'if p_epoch <> %1$s then\n        return null;\n      elsif tock.is_of_one',
    replace: 'if tock.is_of_one',
    caught: ['sql/hot-ends.test.ts', 'a call goes on while the hot functions are written'],
  },
  {
    ...hot,
    name: 'results of another epoch are written to the one in use',
    find: 'if p_epoch <> %1$s then\n        return null;\n      elsif p_again is null then',
    replace: 'if p_again is null then',
    caught: ['sql/hot-ends.test.ts', 'a lease of an epoch that is over'],
  },
  {
    ...hot,
    name: 'wishes of another epoch are looked for in the one in use',
    find: 'case when min(i >> 20) >= %7$s and max(i >> 20) < %8$s then (%9$s) end',
    replace: 'case when min(i >> 20) is not null then (%9$s) end',
    caught: [
      'sql/hot-ends.test.ts',
      `what is wanted of a task is heeded where its first run ${over}`,
    ],
  },
  {
    ...end,
    name: "marks of a first run in another epoch are looked for in the attempt's",
    find: 'when r.task_id >> 20 >= %2$s then (',
    replace: 'when true then (',
    caught: [
      'sql/hot-ends.test.ts',
      `what is wanted of a task is heeded where its first run ${over}`,
    ],
  },
  {
    ...end,
    name: "who ends an attempt does not look for marks of its task's first run",
    find: /and case when r\.task_id is null then true when [\s\S]*?\n {12}end as untouched/,
    replace: 'as untouched',
    caught: [
      'sql/marks-races.test.ts',
      'task changed in an open transaction, and meanwhile failed',
    ],
  },
  {
    ...end,
    name: 'what goes on lies in the epoch of the attempt that ended',
    find: 'insert into tock.runs (stream',
    replace: 'insert into tock.runs_%1$s (stream',
    caught: ['sql/hot-ends.test.ts', 'what goes on after the sequence has gone'],
  },
  {
    ...end,
    name: 'what another call has ended goes on',
    find: 'from ended e join written w using (stream, position)\n',
    replace: 'from ended e\n',
    caught: ['sql/hot-ends.test.ts', 'a task that one call completes and another fails'],
  },
  {
    ...end,
    name: 'a failure overrules what another call wrote',
    find: 'on conflict do nothing\n      returning stream, position',
    replace:
      'on conflict (stream, position) do update set state = excluded.state\n      returning stream, position',
    caught: ['sql/hot-ends.test.ts', 'a task that one call completes and another fails'],
  },
  {
    name: "of two things said of a run its task's id decides",
    file: 'routines/41_lease_parts.sql',
    find: 'order by e.stream, e.position, e.n);',
    replace: 'order by e.stream, e.position, e.n desc);',
    caught: ['sql/hot-ends.test.ts', 'of two things said of one run'],
  },
  {
    name: 'a run that is named twice goes on twice',
    file: 'routines/41_lease_parts.sql',
    find: 'if pg_catalog.cardinality(p_ended) < 2 then',
    replace: 'if true then',
    caught: ['sql/hot-ends.test.ts', "a retried run that is named by its task's id and its own"],
  },
  {
    name: 'a whole completion leaves out what was closed before',
    file: 'routines/45_hot.sql',
    find: 'if v_apart or v_rows > 0 then',
    replace: 'if v_apart then',
    caught: ['sql/complete.test.ts', 'a whole lease answers the same when it is repeated'],
  },
];
