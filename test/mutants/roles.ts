import type { Mutant } from './mutants.ts';

/** Privileges, settings of roles, and SQL injection. */
export const roles: Mutant[] = [
  {
    name: 'new functions are executable by PUBLIC',
    in: 'sql',
    find: 'revoke all on all routines in schema tock from public … cascade;',
    replace: '',
    caught: ['sql/conventions.test.ts', 'PUBLIC can execute no routine and read no table'],
  },
  {
    name: 'the role of the HTTP server may leave a transaction open',
    in: 'sql',
    find: "alter role tock_edge set idle_in_transaction_session_timeout = '60s';",
    replace: '',
    caught: ['sql/roles-cluster.test.ts', 'after a restore without the roles'],
  },
  {
    name: 'the doctor shows the values of a statement',
    in: 'tock.described_session',
    find: "'^\\s*([A-Za-z]\\w*(\\s+[A-Za-z_][\\w.]*){0,3})'",
    replace: "'^(.*)$'",
    caught: ['sql/operations/doctor/doctor.test.ts', 'a long transaction is shown'],
  },
  {
    name: "a key for one queue sees others' sessions",
    in: 'functions',
    find: 'p_sessions => tock.queues_of_key(p_key => $1) is null',
    replace: 'p_sessions => true',
    caught: [
      'http/search.test.ts',
      'only a key for all queues sees whose transaction delays tasks',
    ],
  },
];
