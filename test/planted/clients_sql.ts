import type { Bug } from './bugs.ts';

const sql = 'client/sql.test.ts';
const oddSql = 'client/sql-odd.test.ts';
const memory = 'client/memory.test.ts';
const refused = 'client/memory-refusals.test.ts';

/** What the client would do wrongly in transactions, and in memory. */
export const clientsInSql: Bug[] = [
  {
    name: 'an effect is committed without its completion',
    file: 'client/sql.ts',
    find: 'const result = await handler(held.task, { ...context, client } as never);',
    replace:
      "const result = await handler(held.task, { ...context, client } as never); await client.query('commit'); await client.query(statements.beginOf(held.task.run_id));",
    caught: ['client/kills.test.ts', 'in SQL an effect is there exactly once'],
  },
  {
    name: 'an effect is committed where the lease was lost',
    file: 'client/sql.ts',
    find: "client.query('rollback')",
    replace: "client.query('commit')",
    caught: [sql, 'a lease that was lost takes the effect with it'],
  },
  {
    name: 'a handler ends its transaction and nobody sees it',
    file: 'client/sql/statements.ts',
    find: "pg_catalog.current_setting('tock_client.run', true) is not distinct from $3",
    replace: '$3::text is not null',
    caught: [sql, 'a handler that ends its own transaction has failed'],
  },
  {
    name: 'a worker in SQL dies with a connection',
    file: 'client/sql/ask.ts',
    find: 'EAI_AGAIN|$)/',
    replace: 'EAI_AGAIN)/',
    caught: [sql, 'a worker outlasts connections that break'],
  },
  {
    name: 'a connection is used again while its transaction is open',
    file: 'client/sql.ts',
    find: 'open = await client.query(',
    replace: 'open = false; void Promise.resolve(',
    caught: [oddSql, 'what a handler did that throws'],
  },
  {
    name: 'a refused commit waits for its lease to run out',
    file: 'client/sql.ts',
    find: 'open = !isRefusedCommit(cause);',
    replace: 'open = true;',
    caught: [oddSql, 'a commit that is refused fails the task at once'],
  },
  {
    name: 'a commit that commits nothing is a success',
    file: 'client/sql.ts',
    find: "if (command !== 'ROLLBACK') return;",
    replace: 'if (command) return;',
    caught: [oddSql, 'a commit that commits nothing'],
  },
  {
    name: 'a task that got no transaction has failed',
    file: 'client/sql.ts',
    find: "return { kind: 'released' };",
    replace: 'return endOf(cause, held.abort.signal);',
    caught: [oddSql, 'a task that got no connection'],
  },
  {
    name: 'a pool that nobody listens to ends the process',
    file: 'client/sql.ts',
    find: "pool.on?.('error', ignore);",
    replace: '',
    caught: [oddSql, 'a worker outlasts idle connections that break'],
  },
  {
    name: 'claims that meet end a worker in SQL',
    file: 'client/sql/ask.ts',
    find: "(code === '23505' && ",
    replace: "(code === 'none' && ",
    caught: [oddSql, 'claims that meet'],
  },
  {
    name: 'a claim whose lease is over when it is repeated ends a worker in SQL',
    file: 'client/claims.ts',
    find: 'if (own && error instanceof TockError && error.status === 409) return none;',
    replace: '',
    caught: [oddSql, 'a worker goes on when its claim came through'],
  },
  {
    name: 'in memory a stage is ignored',
    file: 'client/memory/checks.ts',
    find: "if ('stage' in rest) unknown(",
    replace: "if (Reflect.deleteProperty(rest, 'stage')) void (",
    caught: [refused, 'a stage of a task without a pipeline'],
  },
  {
    name: 'in memory spawned tasks are not looked at',
    file: 'client/memory/checks.ts',
    find: 'checkTasks(spawn.tasks, ',
    replace: 'void (',
    caught: [refused, 'a spawned task of no such priority'],
  },
  {
    name: 'in memory a lease never runs out',
    file: 'client/memory/store.ts',
    find: 'if (lease.until <= now()) reap(lease);',
    replace: 'if (lease.until < 0) reap(lease);',
    caught: [memory, 'a lease that ran out can do nothing'],
  },
];
