import type { Mutant } from './mutants.ts';

/** Rerun, redrive, move, purge and erase. */
export const bulkChanges: Mutant[] = [
  {
    name: 'each redrive of a dead task makes another task',
    in: 'tock.run_again',
    find: 'limit 1), 0) else 1 end, tock.id_at(p.next_position, p.next_stream)',
    replace:
      'limit 1), 0) else (p.next_position & 2147483647)::integer end, tock.id_at(p.next_position, p.next_stream)',
    caught: [
      'sql/features/bulk_changes/bulk-changes-races.test.ts',
      'a dead task that two callers redrive concurrently runs again once',
    ],
  },
  {
    name: 'an erased task is run again without its payload',
    in: 'tock.run_again',
    find: 'where r.bytes >= 0',
    replace: '',
    caught: ['sql/features/reruns/rerun.test.ts', 'an erased task is not rerun'],
  },
  {
    name: 'a dead task that was run again is redriven again',
    in: 'tock.dead_groups',
    find: 'and (select x.of_id from tock.reruns x where x.of_id = r.id limit 1) is null',
    replace: '',
    caught: ['sql/features/reruns/redrive.test.ts', 'dead tasks are redriven once'],
  },
  {
    name: 'two sessions do a page of one bulk change',
    in: 'tock.run_bulk_changes',
    find: 'order by b.due_at limit 1 for update skip locked;',
    replace: 'order by b.due_at limit 1;',
    caught: [
      'sql/features/bulk_changes/background.test.ts',
      'two sessions never do a page of one change at the same time',
    ],
  },
  {
    name: 'a page of a bulk change does not store its cursor',
    in: 'tock.run_bulk_changes',
    find: 'cursor = v_page.cursor,',
    replace: '',
    caught: [
      'sql/features/bulk_changes/background.test.ts',
      'a run that is killed changes nothing, and the next one goes on from the stored cursor',
    ],
  },
  {
    name: 'a bulk change fails at a lock',
    in: 'tock.bulk_page_failed',
    find: "case when p_sqlstate ~ '^(40|42P01|42883|53|55P03|TK503)' then 0",
    replace: 'case when false then 0',
    caught: [
      'sql/features/bulk_changes/background.test.ts',
      'a page that meets a lock is tried again until the lock is gone',
    ],
  },
  {
    name: 'a bulk change fails never',
    in: 'tock.bulk_page_failed',
    find: "TK503)' then 0 else 1 end;",
    replace: "TK503)' then 0 else 0 end;",
    caught: [
      'sql/features/bulk_changes/background.test.ts',
      'a bulk change fails after five failed pages in a row',
    ],
  },
  {
    name: 'a page that ran out of time is tried again with as many tasks',
    in: 'tock.run_bulk_changes',
    find: '>> 2 * v_row.failures',
    replace: '',
    caught: [
      'sql/features/bulk_changes/background.test.ts',
      'a page that runs out of time is tried again with fewer tasks, after the other changes',
    ],
  },
  {
    name: 'a drop of a queue locks its bulk changes last',
    in: 'tock.drop_queue',
    find: "perform from tock.bulk_changes b where b.queue = p_queue and b.state = 'running' order by b.id for update;",
    replace: '',
    caught: [
      'sql/features/bulk_changes/background.test.ts',
      'a drop of the queue waits for a page before it locks anything else',
    ],
  },
  {
    name: 'a bulk change is not stopped',
    in: 'tock.stop_bulk_change',
    find: "set state = 'stopped', ended_at = pg_catalog.clock_timestamp()",
    replace: 'set due_at = b.due_at',
    caught: [
      'sql/features/bulk_changes/background.test.ts',
      'a bulk change that is stopped goes no further, and what it has changed stays',
    ],
  },
  {
    name: 'a bulk change takes tasks that were enqueued after its start',
    in: 'tock.list_unfinished',
    find: "where tock.position_of((t ->> 'id')::bigint) <= v_newest",
    replace: '',
    caught: [
      'sql/features/bulk_changes/background.test.ts',
      'leaves out a task that is enqueued before its first page',
    ],
  },
  {
    name: 'a redrive takes tasks that died after its start',
    in: 'tock.redrive_page',
    find: "'ended_by', tock.from_micros(('x0' || v_began)::bit(60)::bigint)",
    replace: "'ended_by', null",
    caught: [
      'sql/features/bulk_changes/background.test.ts',
      'a redrive leaves out a task that dies after its start, though its attempt began before',
    ],
  },
  {
    name: 'a repeated request id starts another bulk change',
    in: 'tock.start_bulk_change',
    find: 'if v_id is not null then return v_id;',
    replace: 'if false then return v_id;',
    caught: [
      'sql/features/bulk_changes/background.test.ts',
      'a start with the same request id returns the same change',
    ],
  },
  {
    name: 'a tick goes on with a bulk change once a minute',
    in: 'tock.tick',
    find: "d.name = 'run_bulk_changes' and exists",
    replace: "d.name = 'run_bulk_changes' and not exists",
    caught: [
      'sql/features/bulk_changes/background.test.ts',
      'each tick goes on with a bulk change, and next_wake_at() says now while one is running',
    ],
  },
  {
    name: 'an alarm sleeps while a bulk change is running',
    in: 'tock.next_wake_at',
    find: "select b.due_at from tock.bulk_changes b where b.state = 'running' order by b.due_at limit 1",
    replace: 'select null::timestamptz',
    caught: [
      'sql/features/bulk_changes/background.test.ts',
      'each tick goes on with a bulk change, and next_wake_at() says now while one is running',
    ],
  },
  {
    name: 'a purge does not take the lock of the stream',
    in: 'tock.purge_stream',
    find: 'if not tock.take_stream(p_stream) then',
    replace: 'if false then',
    caught: [
      'sql/features/bulk_changes/purge.test.ts',
      'a purge skips and counts a stream with an open claim',
    ],
  },
  {
    name: 'a queue is dropped while a task of it runs',
    in: 'tock.drop_queue',
    find: 'dropped := ready = 0 and running = 0 and waiting = 0;',
    replace: 'dropped := ready = 0 and waiting = 0;',
    caught: ['sql/features/bulk_changes/purge.test.ts', 'a queue is dropped when it is paused'],
  },
];
