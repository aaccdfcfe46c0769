import type { Progress, Spawn } from '../types.ts';
import { type Context, type Handler, suspendedOf, type Trace } from './handlers.ts';
import type { LeasedTask } from './leased_tasks.ts';
import { outcomeOfError, outcomeOfResult, type TaskOutcome, truncate } from './outcome.ts';
import { createSteps, type RunSteps } from './steps.ts';

/** Runs a handler; `error` receives what it throws. */
export type RunTask = (
  leased: LeasedTask,
  handler: Handler<unknown, never>,
  error: (error: unknown) => void,
) => Promise<TaskOutcome>;

export type ResultOptions = { stage?: string | null; spawn?: Spawn };

const MAX_NOTE = 500;

/** Limits progress to what a heartbeat accepts, because a refused heartbeat would not extend the lease. */
const clampProgress = (progress?: number, note?: string): Progress => ({
  ...(progress !== undefined && { progress: Math.min(100, Math.max(0, progress)) || 0 }),
  ...(note !== undefined && { note: truncate(note, MAX_NOTE) }),
});

function traceOf({ headers }: LeasedTask['task']): Trace {
  const { traceparent, tracestate, baggage } = headers ?? {};
  return {
    ...(traceparent && { traceparent }),
    ...(tracestate && { tracestate }),
    ...(baggage && { baggage }),
  };
}

/** The context of a task, and what it collects. */
export type ContextOf = {
  context: Context;
  /** What the handler adds to the result. */
  resultOptions: ResultOptions;
  steps: RunSteps;
};

export function createContext(leased: LeasedTask): ContextOf {
  const resultOptions: ResultOptions = {};
  const steps = createSteps(leased);
  const context: Context & { [suspendedOf]: Promise<unknown> } = {
    ...steps.steps,
    [suspendedOf]: steps.suspended,
    trace: traceOf(leased.task),
    signal: leased.abort.signal,
    progress(progress, note) {
      const update = clampProgress(progress, note);
      if (Object.keys(update).length > 0) leased.progress(update);
    },
    spawn(spawn) {
      resultOptions.spawn = spawn;
    },
    stage(stage) {
      resultOptions.stage = stage;
    },
  };
  return { context, resultOptions, steps };
}

/** The result of a handler, or the outcome of a run that its steps have ended. */
export async function resultOrSuspended(
  run: () => unknown,
  steps: RunSteps,
): Promise<{ result: unknown } | { outcome: TaskOutcome }> {
  const ended = async () => {
    try {
      const result = await run();
      await steps.close();
      await steps.finish();
      return { result };
    } catch (error) {
      await steps.close();
      await steps.flush().catch(() => {});
      throw error;
    }
  };
  return Promise.race([ended(), steps.suspended.then((outcome) => ({ outcome }))]);
}

/** Runs the handler. Its outcome is reported later, so the task may run again if the worker is killed before that. */
export const runTask: RunTask = async (leased, handler, error) => {
  const { context, resultOptions, steps } = createContext(leased);
  try {
    const end = await resultOrSuspended(() => handler(leased.task, context as never), steps);
    if ('outcome' in end) return end.outcome;
    const { result } = end;
    return outcomeOfResult({ ...(result !== undefined && { result }), ...resultOptions });
  } catch (thrown) {
    error(thrown);
    return outcomeOfError(thrown, leased.abort.signal);
  }
};
