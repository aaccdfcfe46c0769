import type { Bug } from './bugs.ts';

const told: Pick<Bug, 'file'> = { file: 'routines/60_task.sql' };
const tasks: Pick<Bug, 'file'> = { file: 'routines/61_select_tasks.sql' };
const parts: Pick<Bug, 'file'> = { file: 'routines/64_change_parts.sql' };
const move: Pick<Bug, 'file'> = { file: 'routines/64_move.sql' };
const rerun: Pick<Bug, 'file'> = { file: 'routines/67_rerun.sql' };
const dead: Pick<Bug, 'file'> = { file: 'routines/68_dead.sql' };
const purge: Pick<Bug, 'file'> = { file: 'routines/69_purge.sql' };
const where: Pick<Bug, 'file'> = { file: 'routines/69_where.sql' };

/** What is wanted of many tasks, or of those that have ended. */
export const minds: Bug[] = [
  {
    ...rerun,
    name: 'each redrive of a task has a number of its own',
    find: 'else 1 end,',
    replace: 'else (p.next_position & 2147483647)::integer end,',
    caught: ['sql/minds-races.test.ts', 'a dead task that two callers redrive at once'],
  },
  {
    ...rerun,
    name: 'of two reruns at once one is left out',
    find: 'for v_try in 1 .. 10 loop\n      v_made',
    replace: 'for v_try in 1 .. 1 loop\n      v_made',
    caught: ['sql/minds-races.test.ts', 'of two callers who rerun one task'],
  },
  {
    ...rerun,
    name: 'what a rerun with a request id gave is not kept',
    find: "select 'rerun', a.value ->> 4, p_request_id,",
    replace: "select 'rerun', a.value ->> 4, p_request_id || '-',",
    caught: ['sql/rerun.test.ts', 'a rerun repeated with its request id'],
  },
  {
    ...rerun,
    name: "a rerun's request id is anybody's",
    find: 'select distinct f.queue from unnest(v_found) f order by 1',
    replace: "select distinct '*' from unnest(v_found) f order by 1",
    caught: ['sql/rerun.test.ts', "a rerun's request id is its queues' own"],
  },
  {
    ...rerun,
    name: 'an erased task is run again without its payload',
    find: 'where r.bytes >= 0',
    replace: '',
    caught: ['sql/rerun.test.ts', 'an erased task is not run again'],
  },
  {
    ...rerun,
    name: 'a rerun keeps the unique key of its task',
    find: "- 'unique_key'",
    replace: '',
    caught: ['sql/rerun.test.ts', 'a task with a gate comes back by way of waiting'],
  },
  {
    ...rerun,
    name: 'a rerun goes past its gate',
    find: "g.options ->> 'gate' as gate",
    replace: 'null::text as gate',
    caught: ['sql/rerun.test.ts', 'a task with a gate comes back by way of waiting'],
  },
  {
    ...rerun,
    name: 'a rerun keeps a time that is past',
    find: '::timestamptz > p_now then',
    replace: '::timestamptz is not null then',
    caught: ['sql/rerun.test.ts', 'an expired task runs again'],
  },
  {
    ...dead,
    name: 'what a redrive with a request id gave is not kept',
    find: "values ('redrive', p_queue, p_request_id,",
    replace: "values ('redrive', p_queue, p_request_id || '-',",
    caught: ['sql/dead.test.ts', 'a redrive repeated with its request id'],
  },
  {
    ...dead,
    name: 'dead tasks that were run again are still counted',
    find: ' and (select x.of_id from tock.reruns x where x.of_id = r.id limit 1) is null',
    replace: '',
    caught: ['sql/dead.test.ts', 'dead tasks are redriven once'],
  },
  {
    ...dead,
    name: 'dead tasks of earlier epochs are not counted',
    find: ' or e.dead ? p_queue)',
    replace: ') and e.number = tock.newest_epoch()',
    caught: ['sql/dead.test.ts', 'dead tasks of earlier epochs'],
  },
  {
    ...dead,
    name: 'a redrive goes on with what has died since',
    find: "tock.bounded_cursor(p_cursor, 'dead')",
    replace: 'p_cursor',
    caught: ['sql/dead.test.ts', 'a redrive ends though all die again'],
  },
  {
    ...tasks,
    name: 'a change by filter goes on with what has come since',
    find: 'and coalesce(v.position <= $12, true)',
    replace: 'and coalesce($12 > 0, true)',
    caught: ['sql/where.test.ts', 'tasks in parts ends while others keep coming'],
  },
  {
    ...tasks,
    name: 'a change by filter misses what was promoted meanwhile',
    find: 'if v_at is null and v_upto is not null then',
    replace: 'if false then',
    caught: ['sql/where.test.ts', 'what waited at the first part'],
  },
  {
    ...tasks,
    name: 'a list goes on after what it looked at, not after what it gave',
    find: 'v_last := (v_found[v_left]).run_id;',
    replace: 'null;',
    caught: ['sql/tasks.test.ts', 'each state is listed as task() tells it'],
  },
  {
    ...tasks,
    name: 'a replacement that came too late is listed',
    find: 'where coalesce(w.state = (u.f).state, (u.f).state',
    replace: 'where true or coalesce(w.state = (u.f).state, (u.f).state',
    caught: ['sql/tasks.test.ts', 'a replacement that came too late is no task of its own'],
  },
  {
    ...tasks,
    name: 'a list looks on without end',
    find: ' or (v_seen = v_look and v_page.looked_at >= p_look) then',
    replace: ' then',
    caught: ['sql/tasks.test.ts', 'a call looks at so many rows'],
  },
  {
    ...parts,
    name: 'what replaces a run in another queue is not judged',
    find: 'from placed p join marked m using (stream, position) where p.next_stream <> 0\n',
    replace:
      'from placed p join marked m using (stream, position) where p.next_stream <> 0\n        and p.queue = (select s.queue from tock.streams s where s.number = p.stream)\n',
    caught: ['sql/minds-races.test.ts', 'tasks that are moved to and fro'],
  },
  {
    ...move,
    name: 'a move of nothing makes a queue',
    find: 'if pg_catalog.cardinality(v_going) > 0 and (tock.policy',
    replace: 'if (tock.policy',
    caught: ['sql/move.test.ts', 'a move of nothing makes no queue'],
  },
  {
    ...move,
    name: 'a moved task with options lies among those without',
    find: '+ case when p_options is null then 0 else 1024 end;',
    replace: ';',
    caught: ['sql/move.test.ts', 'a moved task keeps what it is'],
  },
  {
    ...move,
    name: 'a moved task belongs to the queue that it was in at first',
    find: /\(select \(select w\.queue from tock\.whereabouts.*\n/,
    replace: '',
    caught: ['sql/move.test.ts', 'a task that has failed and waits for its next attempt'],
  },
  {
    ...move,
    name: 'what a gate holds is moved',
    find: ' and f.current_id <> all (v_keyed)',
    replace: '',
    caught: ['sql/move.test.ts', 'what a gate or a unique key of its queue holds'],
  },
  {
    ...purge,
    name: 'a purge does not take the lock of the stream',
    find: 'if not tock.take_stream(p_stream) then',
    replace: 'if false then',
    caught: ['sql/purge.test.ts', 'a stream that is being claimed from is left'],
  },
  {
    ...purge,
    name: 'a purge opens no gate',
    find: 'perform tock.open_standing(p_queue);',
    replace: 'null;',
    caught: ['sql/purge.test.ts', 'a purge of what is ready opens its gates'],
  },
  {
    ...purge,
    name: 'a purge goes on with what came meanwhile',
    find: ' <= v_upto, false);',
    replace: ' is not null, false);',
    caught: ['sql/purge.test.ts', 'what is enqueued while a queue is purged'],
  },
  {
    ...purge,
    name: 'a purge goes over what it does not see',
    find: 'select max(r.position) as last_position',
    replace: 'select (select q.last_value from tock.positions q) as last_position',
    caught: ['sql/purge.test.ts', 'what an open transaction enqueues is not purged'],
  },
  {
    ...purge,
    name: 'a purge goes further than what it counts',
    find: 'select max(r.position) as last_position',
    replace: 'select max(r.position) + 40 as last_position',
    caught: ['sql/minds-races.test.ts', 'purges beside claims and enqueues'],
  },
  {
    ...purge,
    name: 'a purge does not say how many it passed over',
    find: 'p.last_position, 0, p.runs,',
    replace: 'p.last_position, 0, 0,',
    caught: ['sql/purge.test.ts', 'a purge reaches over epochs'],
  },
  {
    ...purge,
    name: 'a queue is dropped while a task of it runs',
    find: 'dropped := ready = 0 and running = 0 and waiting = 0;',
    replace: 'dropped := ready = 0 and waiting = 0;',
    caught: ['sql/purge.test.ts', 'a queue is dropped when it is paused'],
  },
  {
    ...told,
    name: 'a purged task is said to be ready',
    find: "when o.outcome = 'purged' then case when (r.options",
    replace: 'when false then case when (r.options',
    caught: ['sql/purge.test.ts', 'a purge cancels what is ready and waits'],
  },
  {
    ...tasks,
    name: 'what was cancelled is found as unstarted',
    find: "case p_state when 'unstarted' then v_source else p_state end",
    replace: "nullif(p_state, 'unstarted')",
    caught: ['sql/where.test.ts', "a tenant's tasks are cancelled in parts"],
  },
  {
    ...where,
    name: 'what has its priority already is given it again',
    find: 'p_priority, tock.bounded_cursor(',
    replace: 'null, tock.bounded_cursor(',
    caught: ['sql/where.test.ts', 'tasks are given another priority in parts'],
  },
];
