import type { AnyQueues, Claimed, Name, Spawn } from '../types.ts';
import type { Steps } from './step_types.ts';

/** W3C Trace Context and Baggage from the task's headers. */
export type Trace = { traceparent?: string; tracestate?: string; baggage?: string };

/** What a handler receives in addition to its task. */
export type Context = Steps & {
  /** The trace of the caller that enqueued the task. */
  trace: Trace;
  /** Aborts when the lease is lost, cancellation is requested, or the worker stops; the reason tells which. */
  signal: AbortSignal;
  /** Reports progress, 0 to 100, with the next heartbeat, within a second. */
  progress(progress?: number, note?: string): void;
  /** Tasks to add in the transaction that completes this one; with `wait` the task continues once they have ended. */
  spawn(spawn: Spawn): void;
  /** The next stage of a task with a pipeline; null ends it. */
  stage(stage: string | null): void;
};

/** The return value is the task's result; a thrown error is its failure (see Fatal and RetryIn). */
export type Handler<P = unknown, C = Context> = (task: Claimed<P>, context: C) => unknown;

/** In a context: resolves when the task sleeps or waits. Its handler then never ends, but its middleware does. */
export const suspendedOf = Symbol('suspended');

/**
 * Wraps each attempt, for example in a trace span. `run` runs the handler; the return value is the task's result, and a
 * thrown error its failure. If the task sleeps or waits, `run` ends without a result.
 */
export type Middleware = (task: Claimed, run: () => Promise<unknown>) => unknown;

/** Wraps a handler in middleware. */
export function withMiddleware<C>(
  handler: Handler<unknown, C>,
  middleware: Middleware,
): Handler<unknown, C> {
  return (task, context) => {
    const { [suspendedOf]: suspended } = context as { [suspendedOf]?: Promise<unknown> };
    const run = async () => handler(task, context);
    return middleware(task, () =>
      suspended ? Promise.race([run(), suspended.then(() => undefined)]) : run(),
    );
  };
}

/** One handler for each queue. */
export type Handlers<Q = AnyQueues, C = Context> = { [N in Name<Q>]?: Handler<Q[N], C> };

/** Normalizes the two call forms: one queue with its handler, or several. */
export function normalizeHandlers<O>(
  first: string | Handlers<AnyQueues, never>,
  second: Handler<never, never> | O | undefined,
  third: O | undefined,
): [handlers: Map<string, Handler<unknown, never>>, options: O | undefined] {
  if (typeof first === 'string') {
    return [new Map([[first, second as Handler<unknown, never>]]), third];
  }
  const entries = Object.entries(first).filter(([, handler]) => handler !== undefined);
  return [new Map(entries as [string, Handler<unknown, never>][]), second as O | undefined];
}
