import { pause } from './pause.ts';
import {
  asRefusal,
  commit,
  isRefusedCommit,
  type Pooled,
  type SqlClient,
  type SqlPool,
  transactionEnded,
} from './sql/query.ts';
import { sqlSource } from './sql/source.ts';
import * as statements from './sql/statements.ts';
import { createSqlStep } from './sql/step.ts';
import type { AnyQueues, Name } from './types.ts';
import type { Context, Handler, Handlers } from './worker/handlers.ts';
import { normalizeHandlers } from './worker/handlers.ts';
import type { LeasedTask } from './worker/leased_tasks.ts';
import { outcomeOfError, outcomeOfResult, type TaskOutcome } from './worker/outcome.ts';
import { createContext, type RunTask, resultOrSuspended } from './worker/run.ts';
import type { EffectOptions, Step } from './worker/step_types.ts';
import { type WorkCounts, type WorkOptions, work } from './worker/work.ts';

export {
  Fatal,
  LeaseLost,
  RetryIn,
  StepFailed,
  TaskCancelled,
  WaitTimedOut,
  WorkerStopped,
} from './errors.ts';
export { enqueueSql, type SqlQuery, type SqlTag } from './sql/enqueue.ts';
export type { WorkCounts, WorkOptions } from './worker/work.ts';
export type { SqlClient, SqlPool };

/** Changes made with `client` commit together with the task's completion, or not at all. A handler must not commit. */
export type SqlContext = Omit<Context, 'step'> & {
  client: SqlClient;
  step: Step & {
    /**
     * A step whose statements commit together with its result, at once. The handler must not have written with
     * `client` outside of such steps before, nor write meanwhile.
     */
    sql<T>(
      name: string,
      run: (client: SqlClient) => T | Promise<T>,
      options?: EffectOptions,
    ): Promise<T>;
  };
};

export type WorkSqlOptions = WorkOptions & {
  /** The address of the HTTP API, for the links of waitFor.url. */
  api_url?: string;
};

type Row = { within: boolean; completed: number | null; refused: string[] };

/** Completes the task in the handler's transaction. The caller commits. */
async function completeInTransaction(
  client: SqlClient,
  leased: LeasedTask,
  resultOptions: object,
): Promise<boolean> {
  const { id, run_id } = leased.task;
  const values = [leased.lease, JSON.stringify([{ id, ...resultOptions }]), run_id];
  const [row] = (await client.query(statements.completeInTransaction, values)).rows as [Row];
  if (!row.within) throw transactionEnded();
  return row.completed === 1;
}

const ignore = () => {};

/** If no transaction can begin, the worker releases the task after this time, so that another worker can claim it. */
const NO_TRANSACTION_PAUSE_MS = 1000;

/** Releases a connection. If the handler has released it, this throws, which must not fail the committed task. */
function releaseConnection(client: Pooled, broken: boolean, error: (error: unknown) => void): void {
  try {
    client.release(broken);
  } catch (cause) {
    error(cause);
  }
}

/** Runs each handler in its own transaction, which also completes the task, so its effects happen exactly once. */
function inTransactions(pool: SqlPool): RunTask {
  /** Runs the handler, completes the task and commits. Returns an outcome that is still to be reported, else null. */
  async function runHandler(client: Pooled, ...[leased, handler, error]: Parameters<RunTask>) {
    const { context, resultOptions, steps } = createContext(leased);
    try {
      leased.abort.signal.throwIfAborted();
      const sql = createSqlStep(client, leased, steps);
      const step = Object.assign(context.step.bind(null), context.step, { sql });
      const run = () => handler(leased.task, { ...context, step, client } as never);
      const ended = await resultOrSuspended(run, steps);
      if ('outcome' in ended) return ended.outcome;
      const { result } = ended;
      const end = outcomeOfResult({ ...(result !== undefined && { result }), ...resultOptions });
      if (end.kind !== 'done') return end;
      return (await completeInTransaction(client, leased, end.report))
        ? null
        : ({ kind: 'reported', as: 'lost' } as const);
    } catch (thrown) {
      const cause = asRefusal(thrown);
      error(cause);
      return outcomeOfError(cause, leased.abort.signal);
    }
  }

  return async (leased, handler, error) => {
    let client: Pooled | undefined;
    try {
      client = await pool.connect();
      // Without a listener, the error event of a broken connection would end the process.
      client.on?.('error', ignore);
      await client.query(statements.beginFor(leased.task.run_id));
    } catch (cause) {
      client?.off?.('error', ignore);
      client?.release(true);
      error(cause);
      // The handler did not start, so the task is released and no attempt fails.
      await pause(NO_TRANSACTION_PAUSE_MS, leased.abort.signal);
      return { kind: 'released' };
    }
    // A connection with an open transaction must not return to the pool.
    let open = true;
    try {
      const end: TaskOutcome | null = await runHandler(client, leased, handler, error);
      if (end) {
        open = await client.query('rollback').then(
          () => false,
          () => true,
        );
        // A handler that waits never ends, and its other branches may still have the connection.
        if (end.kind === 'reported' && end.as === 'released') open = true;
        return end;
      }
      await commit(client);
      open = false;
      return { kind: 'reported', as: 'done' };
    } catch (cause) {
      error(cause);
      open = !isRefusedCommit(cause);
      // With a broken connection the commit's outcome is unknown: either the task is done, or its lease expires.
      return open ? { kind: 'reported', as: 'lost' } : outcomeOfError(cause, leased.abort.signal);
    } finally {
      client.off?.('error', ignore);
      releaseConnection(client, open, error);
    }
  };
}

/**
 * Listens to errors of idle connections, because without a listener they end the process. Throws if the pool is too
 * small to keep one connection for heartbeats.
 */
async function withPool(pool: SqlPool, work: () => Promise<WorkCounts>, concurrency = 1) {
  const max = pool.options?.max ?? Number.POSITIVE_INFINITY;
  if (max <= concurrency) {
    const need = `${concurrency + 1}: one for each handler, and one for heartbeats`;
    throw new RangeError(`workSql: the pool has ${max} connections; increase its max to ${need}`);
  }
  pool.on?.('error', ignore);
  try {
    return await work();
  } finally {
    pool.off?.('error', ignore);
  }
}

/**
 * Tock's work() with SQL: each handler has a transaction that also completes its task, so the handler's changes happen
 * exactly once. If the lease is lost, the transaction rolls back. The pool needs `concurrency` connections and one more
 * for heartbeats.
 */
export function workSql<Q = AnyQueues, N extends Name<Q> = Name<Q>>(
  pool: SqlPool,
  queue: N,
  handler: Handler<Q[N], SqlContext>,
  options?: WorkSqlOptions,
): Promise<WorkCounts>;
export function workSql<Q = AnyQueues>(
  pool: SqlPool,
  handlers: Handlers<Q, SqlContext>,
  options?: WorkSqlOptions,
): Promise<WorkCounts>;
export function workSql(
  pool: SqlPool,
  first: string | Handlers<AnyQueues, SqlContext>,
  second?: Handler<never, SqlContext> | WorkSqlOptions,
  third?: WorkSqlOptions,
): Promise<WorkCounts> {
  const [handlers, options] = normalizeHandlers<WorkSqlOptions>(
    first as never,
    second as never,
    third,
  );
  const source = { ...sqlSource(pool, options?.api_url), run: inTransactions(pool) };
  return withPool(pool, () => work(source, handlers, options), options?.concurrency);
}
