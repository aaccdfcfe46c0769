import type { Bug } from './bugs.ts';

const parents: Pick<Bug, 'file'> = { file: 'routines/55_parents.sql' };
const spawn: Pick<Bug, 'file'> = { file: 'routines/41_spawn.sql' };
const hot: Pick<Bug, 'file'> = { file: 'routines/45_hot.sql' };

/** What comes after other tasks, and when. */
export const afterOthers: Bug[] = [
  {
    ...hot,
    name: 'the completion of one run looks for nobody who waits for it',
    find: 'where x.stream = l.stream and x.position = l.last_position limit 1)',
    replace: 'where false limit 1)',
    caught: ['sql/after.test.ts', 'a task is ready when its parent is completed'],
  },
  {
    ...hot,
    name: 'of a lease of many only the first run is awaited',
    find: 'and x.position > l.after_position and x.position <= l.last_position\n',
    replace: 'and x.position = l.after_position + 1\n',
    caught: ['sql/after.test.ts', 'a task after * comes when all before it'],
  },
  {
    name: 'who waits for a run that ends by its id is not told',
    file: 'routines/40_end_runs.sql',
    find: /perform tock\.parents_moved\([^;]*;/,
    replace: '',
    caught: ['sql/after.test.ts', 'a task is ready when its parent is completed'],
  },
  {
    ...parents,
    name: 'a dead parent counts as done',
    find: "or w.options ->> 'on_parent_failure' = 'run' then",
    replace: "or e.state = 'dead' then",
    caught: ['sql/after.test.ts', 'when a parent'],
  },
  {
    ...parents,
    name: 'what a dead task was run again as is not waited for',
    find: "where f.state in ('dead', 'cancelled', 'expired'));",
    replace: 'where false);',
    caught: ['sql/after.test.ts', 'what waits for a dead task comes when that was redriven'],
  },
  {
    ...parents,
    name: 'a cancelled parent that a claim may have counts as over',
    find: 'or tock.never_starts(f.current_id, p_lock)',
    replace: 'or true',
    caught: ['sql/after.test.ts', 'a cancelled parent that is being claimed'],
  },
  {
    ...parents,
    name: 'who watches looks at its parents again when they tell only',
    find: /due_at = pg_catalog\.clock_timestamp\(\) \+ greatest\([^;]*'1 hour' end\)\)/,
    replace: "due_at = 'infinity'",
    caught: ['sql/after.test.ts', 'a child that was enqueued in a transaction that is open'],
  },
  {
    ...parents,
    name: 'a child comes when the parent that it watched is over, whatever the others do',
    find: 'where o.verdict is null and o.upto = 0);',
    replace: 'where o.verdict is null);',
    caught: ['sql/after-load.test.ts', 'ten thousand parents of one child'],
  },
  {
    name: 'a cycle is let in',
    file: 'routines/20_after.sql',
    find: 'if v_done < p_tasks then',
    replace: 'if false then',
    caught: ['sql/after.test.ts', 'refused: '],
  },
  {
    name: 'a child that is rescheduled forgets its parents',
    file: 'routines/64_change_parts.sql',
    find: 'w.gate is null\n      and w.after_due is null);',
    replace: 'w.gate is null);',
    caught: ['sql/after.test.ts', 'a child that is rescheduled waits'],
  },
  {
    name: 'a key for some queues reads the results of others',
    file: 'routines/81_http.sql',
    find: 'where w.queue <> all (v_queues)',
    replace: 'where false',
    caught: ['http/after.test.ts', 'a key for some queues'],
  },
  {
    ...spawn,
    name: 'a completion that is repeated at once spawns again',
    find: 'if not found then\n    return;',
    replace: 'if false then\n    return;',
    caught: ['sql/spawn.test.ts', 'a completion that is repeated spawns once'],
  },
  {
    ...spawn,
    name: 'a completion with other tasks counts as the same',
    find: 'return v_digest is not distinct from',
    replace: 'return true or v_digest is not distinct from',
    caught: ['sql/spawn.test.ts', 'a completion that is repeated spawns once'],
  },
  {
    ...spawn,
    name: 'a parent goes on before its children have ended',
    find: 'set after_due = pg_catalog.clock_timestamp(),',
    replace: 'set after_due = null, due_at = pg_catalog.clock_timestamp(),',
    caught: ['sql/spawn.test.ts', 'a task waits for what it spawned'],
  },
  {
    ...spawn,
    name: 'a cancelled parent spawns children that nobody waits for',
    find: 'if v_next is null then',
    replace: 'if false then',
    caught: ['sql/spawn.test.ts', 'a task that somebody wants cancelled'],
  },
  {
    name: 'whoever may claim may enqueue by way of a completion',
    file: 'routines/81_http.sql',
    find: "perform tock.authorize(p_key, 'enqueue', coalesce(s.spawn",
    replace: "perform tock.authorize(p_key, 'claim', coalesce(s.spawn",
    caught: ['http/after.test.ts', 'what a run spawns is refused'],
  },
];
