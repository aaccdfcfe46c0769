import type { Progress, Spawn } from '../types.ts';
import type { Context, Handler, Trace } from './handlers.ts';
import type { HeldTask } from './held.ts';
import { clean, doneWith, type End, endOf } from './outcome.ts';

/** Runs a handler; what it throws is given to `error`. */
export type RunTask = (
  held: HeldTask,
  handler: Handler<unknown, never>,
  error: (error: unknown) => void,
) => Promise<End>;

export type Said = { stage?: string | null; spawn?: Spawn };

const LONGEST_NOTE = 500;

/** What a heartbeat can say: one that is refused would keep no lease. */
const fitting = (progress?: number, note?: string): Progress => ({
  ...(progress !== undefined && { progress: Math.min(100, Math.max(0, progress)) || 0 }),
  ...(note !== undefined && { note: clean(note, LONGEST_NOTE) }),
});

function traceOf({ headers }: HeldTask['task']): Trace {
  const { traceparent, tracestate, baggage } = headers ?? {};
  return {
    ...(traceparent && { traceparent }),
    ...(tracestate && { tracestate }),
    ...(baggage && { baggage }),
  };
}

/** The context of a task, and where it notes what its handler says beside a result. */
export function contextOf(held: HeldTask): [context: Context, said: Said] {
  const said: Said = {};
  const context: Context = {
    trace: traceOf(held.task),
    signal: held.abort.signal,
    progress(progress, note) {
      const said = fitting(progress, note);
      if (Object.keys(said).length > 0) held.progress(said);
    },
    spawn(spawn) {
      said.spawn = spawn;
    },
    stage(stage) {
      said.stage = stage;
    },
  };
  return [context, said];
}

/** The handler runs, and what it came to is told afterwards, with others: at least once. */
export const runTask: RunTask = async (held, handler, error) => {
  const [context, said] = contextOf(held);
  try {
    const result = await handler(held.task, context as never);
    return doneWith({ ...(result !== undefined && { result }), ...said });
  } catch (thrown) {
    error(thrown);
    return endOf(thrown, held.abort.signal);
  }
};
