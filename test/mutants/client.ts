import type { Mutant } from './mutants.ts';

/** The client: calls, leases, workers, transactions; and the examples. */
export const client: Mutant[] = [
  {
    name: 'an enqueue has no request id',
    in: 'client',
    find: 'const body = { request_id, ...options, payload };',
    replace: 'const body = { ...options, payload };',
    caught: ['client/calls.test.ts', 'an enqueue adds its tasks once, even if answers are lost'],
  },
  {
    name: 'a claim has no request id',
    in: 'client',
    find: 'const body = { ...options, request_id };',
    replace: 'const body = { ...options };',
    caught: [
      'client/calls.test.ts',
      'a claim whose answer was lost returns the same tasks and leases no others',
    ],
  },
  {
    name: 'no heartbeat is sent',
    in: 'client',
    find: 'setTimeout(beat, late ? 0 : every)',
    replace: 'setTimeout(beat, 1e9)',
    caught: ['client/leases.test.ts', 'heartbeats keep a lease open beyond its duration'],
  },
  {
    name: 'tasks are begun though the lease is over',
    in: 'client',
    find: "if (one.begun) continue; one.ended = true; goingOn--; count('lost', 1);",
    replace: '',
    caught: [
      'client/leases.test.ts',
      'a worker that cannot reach the server drops its tasks when their lease expires',
    ],
  },
  {
    name: 'a worker that stops keeps what it has not begun',
    in: 'client',
    find: 'for (const held of leases) held.giveBack(); const ended',
    replace: 'const ended',
    caught: [
      'client/stop.test.ts',
      'a stopping worker releases tasks that have not started, and finishes running ones',
    ],
  },
  {
    name: 'an effect is committed where the lease was lost',
    in: 'client',
    find: "client.query('rollback')",
    replace: "client.query('commit')",
    caught: ['client/sql.test.ts', "a lost lease rolls back the handler's changes"],
  },
  {
    name: "a shell worker's command can read its key",
    in: 'examples',
    find: 'export -n TOCK_KEY',
    replace: 'export TOCK_KEY',
    caught: [
      'examples/shell.test.ts',
      'a shell worker passes any payload to its command, and returns what it prints',
    ],
  },
];
