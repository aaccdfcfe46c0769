import type { Bug } from './bugs.ts';

const archive = 'archive/archive.test.ts';

/** What would lose history on its way out, show it to others, or keep what was to be erased. */
export const inArchives: Bug[] = [
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
    caught: [archive, 'is found out, and nothing is dropped for it'],
  },
  {
    name: 'what was put is not read back',
    file: 'functions/archive/put.ts',
    find: 'const back = await store.get(path);',
    replace: 'const back: Uint8Array | null = bytes;',
    caught: [archive, 'is found out, and nothing is dropped for it'],
  },
  {
    name: 'a part is recorded that was changed meanwhile',
    file: 'routines/74_archived.sql',
    find: 'if (v_rows.count, v_rows.digest) is distinct from (p_rows, p_digest) then',
    replace: 'if v_rows.count is null then',
    caught: [archive, 'is erased between a part and its record'],
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
