import type { Bug } from './bugs.ts';

const file = 'routines/38_claim_own.sql';
const own = 'sql/claim-own.test.ts';

/** Claims of one at a time. */
export const claimOwn: Bug[] = [
  {
    name: 'each claim of its own is a new one',
    file,
    find: 'if v_own.token is not null then',
    replace: 'if false then',
    caught: [own, 'a worker that claims one at a time'],
  },
  {
    name: 'two claims of their own do not follow each other',
    file,
    find: 'o.worker = p_worker for update;',
    replace: 'o.worker = p_worker;',
    caught: [own, 'sixteen calls of a worker at once'],
  },
  {
    name: 'who is forgotten while it claims of its own has two',
    file,
    find: 'exit when found;',
    replace: 'exit;',
    caught: [own, 'a worker that is forgotten while it claims'],
  },
  {
    name: 'what is held for days as its own is forgotten',
    file,
    find: 'if tock.is_open(v_own.token, tock.lease_epoch(v_own.token)) then',
    replace: 'if false then',
    caught: [own, 'what nobody needs any more is forgotten'],
  },
  {
    name: 'tidy waits for claims of their own',
    file,
    find: 'limit p_limit for update skip locked',
    replace: 'limit p_limit for update',
    caught: [own, 'what is claimed while others tidy'],
  },
];
