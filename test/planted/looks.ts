import type { Bug } from './bugs.ts';

const search: Pick<Bug, 'file'> = { file: 'routines/61_search.sql' };
const parts: Pick<Bug, 'file'> = { file: 'routines/61_search_parts.sql' };
const running: Pick<Bug, 'file'> = { file: 'routines/61_running.sql' };
const stats: Pick<Bug, 'file'> = { file: 'routines/61_queue_stats.sql' };
const reasons: Pick<Bug, 'file'> = { file: 'routines/69_why.sql' };

const found = 'sql/looks.test.ts';
const why = 'sql/why.test.ts';
const once = 'over epochs each task is found once';

/** What people look through: search, leases, counts, and why tasks are late. */
export const looks: Bug[] = [
  {
    name: 'nothing is said of a queue whose name is mistyped',
    file: 'routines/69_why.sql',
    find: 'where not exists (select from tock.queues q where q.name = p_queue)',
    replace: 'where false',
    caught: ['sql/why.test.ts', 'nothing is said of a queue'],
  },
  {
    name: 'a key for one queue is told whose transaction holds it up',
    file: 'functions/routes/looks.ts',
    find: 'p_sessions => tock.queues_of_key(p_key => $1) is null',
    replace: 'p_sessions => true',
    caught: ['http/looks.test.ts', 'whose transaction holds tasks back'],
  },
  {
    ...search,
    name: 'a search shows a run that another has gone on from',
    find: '        where d.next_id is null) j',
    replace: '        ) j',
    caught: [found, once],
  },
  {
    ...search,
    name: 'a search shows a replacement that came too late',
    find: 'where a.run_id not in (select h.current_id from here h) and not exists (',
    replace: 'where false and not exists (',
    caught: [found, 'a change that came too late'],
  },
  {
    ...search,
    name: 'a search goes on below what it has not looked at',
    find: 'select coalesce(max(h.least), 0) as position',
    replace: 'select coalesce(min(h.least), 0) as position',
    caught: ['sql/looks-flat.test.ts', 'one stream that is busier'],
  },
  {
    ...search,
    name: 'what waits is looked for in a moment of its own',
    find: 'language plpgsql\nstable\nset enable_seqscan = off',
    replace: 'language plpgsql\nvolatile\nset enable_seqscan = off',
    caught: [found, 'what goes from the line to the runs'],
  },
  {
    ...search,
    name: 'a search shows what retention hides',
    find: 'and coalesce(j.ended_at >= tock.shown_since(j.queue), true)',
    replace: '',
    caught: [found, 'what retention hides'],
  },
  {
    ...search,
    name: 'a search ends with the newest epoch',
    find: 'v_horizon := v_epoch.first_position;',
    replace: 'v_horizon := 0;',
    caught: [found, once],
  },
  {
    ...parts,
    name: 'a search for a key forgets the worker',
    find: "and coalesce(t.runs -> -1 ->> 'worker' = p_filter ->> 'worker', p_filter ->> 'worker' is null)",
    replace: '',
    caught: [found, 'a unique key finds the task'],
  },
  {
    ...parts,
    name: 'any text is a cursor of a search',
    find: 'elsif p_cursor is not null then',
    replace: 'elsif false then',
    caught: [found, 'what can be no filter and no cursor'],
  },
  {
    ...search,
    name: "a search's cursor may be too short for the door",
    find: "pg_catalog.lpad(pg_catalog.to_hex(r.below), 12, '0')",
    replace: 'pg_catalog.to_hex(r.below)',
    caught: ['http/looks.test.ts', 'a search goes on by its cursor'],
  },
  {
    ...running,
    name: 'who stands behind two thousand open leases is not found',
    find: 'else v_horizon end),',
    replace: 'end),',
    caught: ['sql/running.test.ts', 'who stands behind two thousand'],
  },
  {
    ...running,
    name: 'what has ended is still said to run',
    find: 'and (select e.position from tock.results_%1$s e where e.stream = r.stream and e.position = r.position) is null order by',
    replace: 'order by',
    caught: ['sql/running.test.ts', 'open leases say who runs what'],
  },
  {
    ...stats,
    name: 'counts forget leases of an epoch that settled since the last round',
    find: 'tock.ready_statement(tock.news_epochs())',
    replace: 'tock.ready_statement(v_epochs)',
    caught: ['sql/stats.test.ts', 'what was counted is known to be gone'],
  },
  {
    ...stats,
    name: 'counts take what is marked for ready',
    find: 'greatest(0, t.ready - h.marked) as runs',
    replace: 't.ready as runs',
    caught: ['sql/stats.test.ts', 'the counts are those of a plain count'],
  },
  {
    ...reasons,
    name: 'where a limit holds, more workers are asked for',
    find: /(raise (?:max_running|rate_limit if it is too low)';\n) {4}return;/,
    replace: '{inside}',
    caught: [why, 'limits that are reached are named'],
  },
  {
    ...reasons,
    name: 'what fails at once again and again is not seen',
    find: 'where r.attempt - 1 - r.lost >= 2',
    replace: 'where false',
    caught: [why, 'a task that fails at once again and again'],
  },
  {
    ...reasons,
    name: 'whoever only reads Tock is said to hold tasks back',
    find: " and l.mode in ('RowExclusiveLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')",
    replace: '',
    caught: [why, 'a transaction that has written'],
  },
  {
    ...reasons,
    name: "another role's open transaction is not named",
    find: 'union all select h.*, 3 from tock.why_of_hidden() h',
    replace: '',
    caught: [why, "another role's open transaction"],
  },
  {
    ...reasons,
    name: 'what came just now is to be ended',
    find: "case when p_since < pg_catalog.clock_timestamp() - interval '60 seconds'",
    replace: 'case when true',
    caught: [why, 'all gates that hold tasks back'],
  },
  {
    ...reasons,
    name: 'a task is to be given up because it came long ago',
    find: "tock.how_to_end((t.runs -> 0 ->> 'started_at')::timestamptz, 'mend",
    replace: "tock.how_to_end(t.created_at, 'mend",
    caught: [why, 'a task that fails at once again and again'],
  },
  {
    ...stats,
    name: 'what is ready again at once counts from its creation',
    find: 'tock.ready_since(r.stream, r.position, r.task_id)',
    replace: 'null',
    caught: ['sql/minutes.test.ts', 'a run that is ready again at once'],
  },
];
