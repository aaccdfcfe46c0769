import type { Bug } from './bugs.ts';

const archive = 'archive/archive.test.ts';
const faults = 'archive/faults.test.ts';
const chains = 'archive/chains.test.ts';

/** What would lose history on its way out, show it to others, or keep what was to be erased. */
export const inArchives: Bug[] = [
  {
    name: 'an epoch is dropped before it is said that there is a store',
    file: 'functions/worker.ts',
    find: '() => wantArchive(connect, env),',
    replace: '',
    caught: ['archive/turns.test.ts', 'a Worker with a store turns it on'],
  },
  {
    name: 'a text that begins with a byte order mark loses it',
    file: 'functions/archive/parquet.ts',
    find: ', { ignoreBOM: true }',
    replace: '',
    caught: ['archive/parquet.test.ts', 'runs are read as they were written'],
  },
  {
    name: 'a put that arrives late stays',
    file: 'routines/74_archived.sql',
    find: "o.state = 'deleted' and o.noted_at < pg_catalog.clock_timestamp() - interval '1 hour';",
    replace: "o.state = 'deleted';",
    caught: [faults, 'a put that was given up'],
  },
  {
    name: 'what can not be erased keeps the rest from it',
    file: 'routines/74_erase_archived.sql',
    find: 'order by n.tried_at nulls first, n.task_id',
    replace: 'order by n.task_id',
    caught: [faults, 'keeps nothing else from its way'],
  },
  {
    name: 'what can not be deleted keeps history from its way',
    file: 'functions/archive/step.ts',
    find: 'await clear(query, store).catch(failed)',
    replace: 'await clear(query, store)',
    caught: [faults, 'keeps nothing else from its way'],
  },
  {
    name: 'the first run that was read stands for the first there was',
    file: 'routines/60_task.sql',
    find: 'and (v_next & 1048575 <> 0 or v_next = any (p_looked)) then',
    replace: 'then',
    caught: ['archive/lives.test.ts', 'lives over several epochs read as before'],
  },
  {
    name: 'an epoch is dropped before its archive is verified',
    file: 'routines/14_archiving.sql',
    find: "where a.epoch = p_epoch and a.state = 'verified');",
    replace: 'where a.epoch = p_epoch);',
    caught: [faults, 'is found out, and nothing is dropped for it'],
  },
  {
    name: 'what was put is not read back',
    file: 'functions/archive/put.ts',
    find: 'const back = await store.get(path);',
    replace: 'const back: Uint8Array | null = bytes;',
    caught: [faults, 'is found out, and nothing is dropped for it'],
  },
  {
    name: 'a part is recorded that was changed meanwhile',
    file: 'routines/74_archived.sql',
    find: 'if (v_rows.count, v_rows.digest) is distinct from (p_rows, p_digest) then',
    replace: 'if v_rows.count is null then',
    caught: [faults, 'is erased between a part and its record'],
  },
  {
    name: 'an erased task stays in its file',
    file: 'functions/archive/erase.ts',
    find: 'for (const column of emptied) one[placeOf(column)] = null;',
    replace: '',
    caught: [archive, 'gone from every file after a step'],
  },
  {
    name: 'an erased task is shown until its file is rewritten',
    file: 'routines/74_archived_read.sql',
    find: 'v_run.payload := null;',
    replace: '',
    caught: [archive, 'an erased task is empty at once'],
  },
  {
    name: "the archive shows other tenants' tasks",
    file: 'routines/74_archived_read.sql',
    find: 'if v_tenants is not null and (p_tenant = any (v_tenants)) is not true then',
    replace: 'if v_tenants is null and p_tenant is null and p_queue is null then',
    caught: [archive, 'judged in the archive as it was before'],
  },
  {
    name: 'a search of the archive tells a key how much others have',
    file: 'functions/archive/search.ts',
    find: 'asked.counts ? seen : tasks.length',
    replace: 'seen',
    caught: [archive, 'judged in the archive as it was before'],
  },
  {
    name: 'errors that are to be erased are shown where such tasks are many',
    file: 'functions/archive/search.ts',
    find: 'erased?.has(id) ?? true',
    replace: 'erased?.has(id) ?? false',
    caught: [archive, 'is empty at once, and gone from every file'],
  },
  {
    name: 'an erasure is over after its first files',
    file: 'routines/74_erase_archived.sql',
    find: 'if not found or exists (select from tock.files_to_erase(v_erasure)) then',
    replace: 'if not found then',
    caught: [faults, 'a task with more files than a step rewrites'],
  },
  {
    name: 'who is second to rewrite a file has erased it',
    file: 'functions/archive/erase.ts',
    find: 'if (isConflict(error)) return false;',
    replace: 'if (isConflict(error)) return true;',
    caught: [faults, 'who is overtaken in a file'],
  },
  {
    name: 'what a retry became is looked up when it is archived',
    file: 'routines/74_archive_part.sql',
    find: 'd.next_id::text, s.queue,',
    replace:
      'coalesce((select p.run_id from tock.promotions p where p.position = d.next_id >> 20), d.next_id)::text, s.queue,',
    caught: [chains, 'epochs that are dropped in another order'],
  },
  {
    name: 'a retry is filed only where it waited',
    file: 'routines/74_archive_part.sql',
    find: 'if v_row.begun is not null then',
    replace: 'if v_row.begun & 1048575 = 0 then',
    caught: [chains, 'about to be dropped when the archive was turned on'],
  },
  {
    name: 'a look-up reads every file that may have a task by its range',
    file: 'routines/74_archived.sql',
    find: 'and (t.filter is null or tock.lets_through(t.filter, p_position))',
    replace: '',
    caught: [chains, 'among the files of very many that did'],
  },
  {
    name: 'runs that have been counted are counted again',
    file: 'routines/71_count_some.sql',
    find: 'where r.stream = b.number and r.position > b.runs_to',
    replace: 'where r.stream = b.number and r.position >= b.runs_to',
    caught: ['sql/minutes.test.ts', 'is counted once, whenever a round comes'],
  },
  {
    name: 'ends of a lease that stays open are counted in each round',
    file: 'routines/71_count_some.sql',
    find: 'where c.position is null) e',
    replace: 'where true) e',
    caught: ['sql/minutes.test.ts', 'a lease that stays open is looked at again'],
  },
  {
    name: 'an epoch is dropped that is not counted',
    file: 'routines/73_retain.sql',
    find: 'perform tock.minutes();',
    replace: '',
    caught: ['sql/minutes.test.ts', 'over the edges of epochs and after they are gone'],
  },
];
