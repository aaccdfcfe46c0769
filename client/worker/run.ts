import type { Progress, Spawn } from '../types.ts';
import type { Context, Handler, Trace } from './handlers.ts';
import type { LeasedTask } from './leased_tasks.ts';
import { outcomeOfError, outcomeOfResult, type TaskOutcome, truncate } from './outcome.ts';

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

/** The context of a task, and the object that collects what its handler adds to the result. */
export function createContext(
  leased: LeasedTask,
): [context: Context, resultOptions: ResultOptions] {
  const resultOptions: ResultOptions = {};
  const context: Context = {
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
  return [context, resultOptions];
}

/** Runs the handler. Its outcome is reported later, so the task may run again if the worker is killed before that. */
export const runTask: RunTask = async (leased, handler, error) => {
  const [context, resultOptions] = createContext(leased);
  try {
    const result = await handler(leased.task, context as never);
    return outcomeOfResult({ ...(result !== undefined && { result }), ...resultOptions });
  } catch (thrown) {
    error(thrown);
    return outcomeOfError(thrown, leased.abort.signal);
  }
};
