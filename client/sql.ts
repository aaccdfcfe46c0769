import { pause } from './pause.ts';
import {
  asRefusal,
  isRefusedCommit,
  type Pooled,
  type SqlClient,
  type SqlPool,
} from './sql/ask.ts';
import { sqlSource } from './sql/source.ts';
import * as statements from './sql/statements.ts';
import type { AnyQueues, Name } from './types.ts';
import type { Context, Handler, Handlers } from './worker/handlers.ts';
import { handlersOf } from './worker/handlers.ts';
import type { HeldTask } from './worker/held.ts';
import { doneWith, type End, endOf } from './worker/outcome.ts';
import { contextOf, type RunTask } from './worker/run.ts';
import { type Worked, type WorkOptions, work } from './worker/work.ts';

export { Fatal, LeaseLost, RetryIn, TaskCancelled, WorkerStopped } from './errors.ts';
export { enqueueSql, type SqlQuery, type SqlTag } from './sql/enqueue.ts';
export type { Worked, WorkOptions } from './worker/work.ts';
export type { SqlClient, SqlPool };

/** Whatever is done with `client` commits together with the task's completion, or not at all. Don't commit it yourself. */
export type SqlContext = Context & { client: SqlClient };

type Row = { within: boolean; completed: number | null; refused: string[] };

/** The completion, in the handler's transaction; what follows it is the commit. */
async function completed(client: SqlClient, held: HeldTask, said: object): Promise<boolean> {
  const { id, run_id } = held.task;
  const values = [held.lease, JSON.stringify([{ id, ...said }]), run_id];
  const [row] = (await client.query(statements.completeWithin, values)).rows as [Row];
  if (!row.within)
    throw new Error('The handler has ended its transaction, which is not its to end.');
  return row.completed === 1;
}

const ignore = () => {};

/** How long a task is kept that got no transaction, before another worker may try. */
const WITHOUT_A_TRANSACTION_MS = 1000;

/** Commits. It may be answered that there was nothing to commit any more: a query that nobody waited for has failed. */
async function commit(client: SqlClient): Promise<void> {
  const { command } = await client.query('commit');
  if (command !== 'ROLLBACK') return;
  const message = 'Nothing was committed: a query that the handler did not wait for has failed.';
  throw Object.assign(new Error(message), { code: '25P02' });
}

/** Gives a connection back; a handler may have done so, which must not undo what has been done. */
function letGo(client: Pooled, broken: boolean, error: (error: unknown) => void): void {
  try {
    client.release(broken);
  } catch (cause) {
    error(cause);
  }
}

/** Runs handlers in transactions of their own, in which they are also completed: exactly once. */
function inTransactions(pool: SqlPool): RunTask {
  /** What it came to, up to the commit: from there on nobody but the database knows. */
  async function prepared(client: Pooled, ...[held, handler, error]: Parameters<RunTask>) {
    const [context, said] = contextOf(held);
    try {
      held.abort.signal.throwIfAborted();
      const result = await handler(held.task, { ...context, client } as never);
      const end = doneWith({ ...(result !== undefined && { result }), ...said });
      if (end.kind !== 'done') return end;
      return (await completed(client, held, end.said))
        ? null
        : ({ kind: 'told', as: 'lost' } as const);
    } catch (thrown) {
      const why = asRefusal(thrown);
      error(why);
      return endOf(why, held.abort.signal);
    }
  }

  return async (held, handler, error) => {
    let client: Pooled | undefined;
    try {
      client = await pool.connect();
      // A connection that breaks says so, and would end the process if nobody heard.
      client.on?.('error', ignore);
      await client.query(statements.beginOf(held.task.run_id));
    } catch (cause) {
      client?.off?.('error', ignore);
      client?.release(true);
      error(cause);
      // It was not begun, so it has not failed.
      await pause(WITHOUT_A_TRANSACTION_MS, held.abort.signal);
      return { kind: 'released' };
    }
    // No other may have a connection whose transaction has not ended.
    let open = true;
    try {
      const end: End | null = await prepared(client, held, handler, error);
      if (end) {
        open = await client.query('rollback').then(
          () => false,
          () => true,
        );
        return end;
      }
      await commit(client);
      open = false;
      return { kind: 'told', as: 'done' };
    } catch (cause) {
      error(cause);
      open = !isRefusedCommit(cause);
      // Else whether it was committed is not known: if so it is done, if not its lease runs out.
      return open ? { kind: 'told', as: 'lost' } : endOf(cause, held.abort.signal);
    } finally {
      client.off?.('error', ignore);
      letGo(client, open, error);
    }
  };
}

/** A pool whose idle connections may break, which would end the process if nobody heard, and with one for heartbeats. */
async function workIn(pool: SqlPool, work: () => Promise<Worked>, concurrency = 1) {
  const most = pool.options?.max ?? Number.POSITIVE_INFINITY;
  if (most <= concurrency) {
    const need = `${concurrency + 1}: one for each handler, and one for heartbeats`;
    throw new RangeError(`workSql: the pool has ${most} connections and needs ${need}`);
  }
  pool.on?.('error', ignore);
  try {
    return await work();
  } finally {
    pool.off?.('error', ignore);
  }
}

/**
 * As Tock's work(), with SQL: each handler has a transaction in which its task is completed, so that its effect there
 * is exactly once. A lease that was lost rolls it back. The pool needs a connection more than `concurrency`, for heartbeats.
 */
export function workSql<Q = AnyQueues, N extends Name<Q> = Name<Q>>(
  pool: SqlPool,
  queue: N,
  handler: Handler<Q[N], SqlContext>,
  options?: WorkOptions,
): Promise<Worked>;
export function workSql<Q = AnyQueues>(
  pool: SqlPool,
  handlers: Handlers<Q, SqlContext>,
  options?: WorkOptions,
): Promise<Worked>;
export function workSql(
  pool: SqlPool,
  first: string | Handlers<AnyQueues, SqlContext>,
  second?: Handler<never, SqlContext> | WorkOptions,
  third?: WorkOptions,
): Promise<Worked> {
  const [handlers, options] = handlersOf<WorkOptions>(first as never, second as never, third);
  const source = { ...sqlSource(pool), run: inTransactions(pool) };
  return workIn(pool, () => work(source, handlers, options), options?.concurrency);
}
