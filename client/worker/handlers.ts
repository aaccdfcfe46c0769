import type { AnyQueues, Claimed, Name, Spawn } from '../types.ts';

/** Of W3C Trace Context and Baggage, as the task's headers have it. */
export type Trace = { traceparent?: string; tracestate?: string; baggage?: string };

/** What a handler has beside its task. */
export type Context = {
  /** What the task is part of: of whoever enqueued it. */
  trace: Trace;
  /** Aborts when the lease is lost, the task is to be cancelled, or the worker stops; its reason says which. */
  signal: AbortSignal;
  /** How far it is, 0 to 100, told with the next heartbeat, a second later at most. */
  progress(progress?: number, note?: string): void;
  /** Tasks to add in the transaction that completes this one; with `wait` it goes on when those have ended. */
  spawn(spawn: Spawn): void;
  /** Of a task with a pipeline: the stage where it goes on; null ends it. */
  stage(stage: string | null): void;
};

/** What it returns is the task's result; what it throws is its failure (see Fatal and RetryIn). */
export type Handler<P = unknown, C = Context> = (task: Claimed<P>, context: C) => unknown;

/**
 * Goes around each attempt, as a span of its trace does: `run` is the handler, what this returns is the task's result,
 * and what it throws its failure.
 */
export type Around = (task: Claimed, run: () => Promise<unknown>) => unknown;

/** A handler with what goes around it. */
export function surrounded<C>(handler: Handler<unknown, C>, around: Around): Handler<unknown, C> {
  return (task, context) => around(task, async () => handler(task, context));
}

/** A handler for each queue that is worked on. */
export type Handlers<Q = AnyQueues, C = Context> = { [N in Name<Q>]?: Handler<Q[N], C> };

/** One queue and its handler, or several, in one form. */
export function handlersOf<O>(
  first: string | Handlers<AnyQueues, never>,
  second: Handler<never, never> | O | undefined,
  third: O | undefined,
): [handlers: Map<string, Handler<unknown, never>>, options: O | undefined] {
  if (typeof first === 'string') {
    return [new Map([[first, second as Handler<unknown, never>]]), third];
  }
  const given = Object.entries(first).filter(([, handler]) => handler !== undefined);
  return [new Map(given as [string, Handler<unknown, never>][]), second as O | undefined];
}
