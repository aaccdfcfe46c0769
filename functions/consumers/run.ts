import { LeaseLost, WorkerStopped } from '../../client/errors.ts';
import { pause } from '../../client/pause.ts';
import type { LeasedTask } from '../../client/worker/leased_tasks.ts';
import {
  errorToJson,
  outcomeOfError,
  outcomeOfResult,
  type TaskOutcome,
} from '../../client/worker/outcome.ts';
import {
  createContext,
  type ResultOptions,
  type RunTask,
  resultOrSuspended,
} from '../../client/worker/run.ts';
import type { RunSteps } from '../../client/worker/steps.ts';
import type { Query } from '../database/types.ts';
import { type ConsumerContext, plainContext } from './context.ts';
import { createStepWith, leaseLostText } from './step_with.ts';
import { transactionalStatement } from './transactional_statement.ts';

/** If complete() finds no lease, the statement casts leaseLostText to a number: this error undoes the effect. */
function completingStatement(statement: string, at: number): string {
  const { text, read } = transactionalStatement('completeWith', statement, at);
  // The line break ends a comment at the end of the handler's statement.
  return `with effect as ${read ? 'materialized ' : ''}(${text}
  ), ours as materialized (
    select c.completed from tock.complete(p_lease => $${at + 1}::uuid, p_results => $${at + 2}::jsonb) c
  )
  select case when coalesce(sum(o.completed), 0) <> 1 then ('${leaseLostText}' || count(*))::integer end as done${
    read ? ', (select count(*) from effect) as read' : ''
  }
  from ours o`;
}

// After these errors (class 08, a shutdown, the driver's own) the statement may have been executed.
const isUnknown = ({ code = '' }: { code?: string }) => !code || /^(08|57P0|E[A-Z]+$)/.test(code);

/** The outcome if completeWith() may have completed the task; else null. */
type ReportedOutcome = Extract<TaskOutcome, { kind: 'reported' }> | null;

/** Sends completeWith() at most once: after a lost answer, a second statement could repeat its effect. */
function createCompleter(
  query: Query,
  leased: LeasedTask,
  resultOptions: ResultOptions,
  steps: RunSteps,
) {
  let reported: ReportedOutcome = null;
  let pending: Promise<void> | null = null;

  async function send(text: string, values: unknown[]): Promise<void> {
    try {
      await query(text, values);
      reported = { kind: 'reported', as: 'done' };
    } catch (error) {
      const lost = (error as Error).message.includes(leaseLostText);
      if (lost || isUnknown(error as { code?: string }))
        reported = { kind: 'reported', as: 'lost' };
      throw lost ? new LeaseLost(409, { detail: 'The lease of this task has ended.' }) : error;
    }
  }

  async function complete(text: string, values: unknown[], result: unknown): Promise<void> {
    const statement = completingStatement(text, values.length);
    const results = [
      { id: leased.task.id, ...(result !== undefined && { result }), ...resultOptions },
    ];
    const parameters = [...values, leased.lease, JSON.stringify(results)];
    if (reported || pending)
      throw new Error('completeWith: an earlier call may have completed this task; call it once');
    // If the steps are refused, nothing was sent, and the attempt fails.
    pending = steps
      .finish()
      .then(() => send(statement, parameters))
      .finally(() => {
        pending = null;
      });
    await pending;
  }

  const completeWith: ConsumerContext['completeWith'] = (text, values = [], result) => {
    const completed = complete(text, values, result);
    // A handler may forget to await it; the runner awaits it then.
    completed.catch(() => {});
    return completed;
  };
  return { completeWith, reported: () => reported, settled: async () => pending };
}

/** How long a handler may still run after its signal aborts. */
const GRACE_MS = 800;

/** Rejects if the Worker stops a handler after enough_seconds or more, and the handler ignores its signal. */
function watchTimeout(signal: AbortSignal, enough_seconds: number) {
  const started_at = performance.now();
  const controller = new AbortController();
  let error: Error | null = null;
  const stopped = new Promise<never>((_, reject) => {
    const stop = () => {
      const seconds = (performance.now() - started_at) / 1000;
      if (!(signal.reason instanceof WorkerStopped) || seconds < enough_seconds) return;
      const message = `not ended within ${Math.round(seconds)} s, the time limit of its Worker`;
      const timeout = Object.assign(new Error(message), { name: 'TimedOut' });
      error = timeout;
      void pause(GRACE_MS, controller.signal).then(() => reject(timeout));
    };
    signal.addEventListener('abort', stop, { once: true, signal: controller.signal });
  });
  stopped.catch(() => {});
  return { stopped, error: () => error, end: () => controller.abort() };
}

const failed = (error: Error): TaskOutcome => ({
  kind: 'failed',
  report: { error: errorToJson(error) },
});

/** Runs a consumer's handler with its full context. */
export function createRunner(
  query: Query,
  env: ConsumerContext['env'],
  left: () => number,
  enough_seconds: number,
): RunTask {
  return async (leased, handler, error) => {
    const { context: workerContext, resultOptions, steps } = createContext(leased);
    const { completeWith, reported, settled } = createCompleter(
      query,
      leased,
      resultOptions,
      steps,
    );
    const step = Object.assign(workerContext.step.bind(null), workerContext.step, {
      with: createStepWith(query, leased, steps),
    });
    const context = { ...workerContext, ...plainContext(leased, env, left), step, completeWith };
    const timeout = watchTimeout(leased.abort.signal, enough_seconds);
    const runHandler = async () => handler(leased.task, context as never);
    try {
      const end = await Promise.race([resultOrSuspended(runHandler, steps), timeout.stopped]);
      if ('outcome' in end) return end.outcome;
      const { result } = end;
      await settled();
      return (
        reported() ?? outcomeOfResult({ ...(result !== undefined && { result }), ...resultOptions })
      );
    } catch (thrown) {
      error(thrown);
      await settled().catch(() => {});
      const cause = timeout.error();
      return reported() ?? (cause ? failed(cause) : outcomeOfError(thrown, leased.abort.signal));
    } finally {
      timeout.end();
    }
  };
}
