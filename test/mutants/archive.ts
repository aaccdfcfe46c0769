import type { Mutant } from './mutants.ts';

/** The archive. */
export const archive: Mutant[] = [
  {
    name: 'a part is recorded that has changed meanwhile',
    in: 'tock.archived',
    find: 'if (v_rows.count, v_rows.digest) is distinct from (p_rows, p_digest) then',
    replace: 'if v_rows.count is null then',
    caught: ['archive/faults.test.ts', 'is erased between a part and its record'],
  },
  {
    name: 'an erased task stays in its file',
    in: 'functions',
    find: 'for (const column of emptied) one[placeOf(column)] = null;',
    replace: '',
    caught: ['archive/archive.test.ts', 'gone from every file after a step'],
  },
  {
    name: 'an erased task is shown until its file is rewritten',
    in: 'tock.archived_run',
    find: 'v_run.payload := null;',
    replace: '',
    caught: ['archive/archive.test.ts', 'an erased task is empty at once'],
  },
];
