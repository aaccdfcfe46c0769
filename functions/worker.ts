import { type Middleware, withMiddleware } from '../client/worker/handlers.ts';
import { type AlarmClass, createAlarm } from './alarm/alarm.ts';
import { alarmHub, alarmNotifier } from './alarm/notify.ts';
import { enableArchive, runArchive } from './archive/step.ts';
import { borrowedConnections } from './consumers/borrowed_connections.ts';
import type { Consumer } from './consumers/define.ts';
import { drain, enoughSeconds } from './consumers/drain.ts';
import { enqueuedTo, keepAliveOf, wakeAfterRequest } from './consumers/wake_after_request.ts';
import { connect as open } from './database/connect.ts';
import type { Connect } from './database/types.ts';
import type { Bindings } from './env.ts';
import { createApp } from './http/app.ts';
import { eachNode } from './nodes/config.ts';
import { withPush } from './push/consumers.ts';

export { Fatal, LeaseLost, RetryIn, TaskCancelled, WorkerStopped } from '../client/errors.ts';
export type { Middleware, Trace } from '../client/worker/handlers.ts';
export type { ConsumerContext, ConsumerHandler } from './consumers/context.ts';
export { type Consumer, defineConsumer } from './consumers/define.ts';
export type { Bindings } from './env.ts';

export type WorkerOptions = {
  consumers?: readonly Consumer[];
  /** Wraps each attempt, for example in a trace span. */
  middleware?: Middleware;
  /** How many seconds one invocation works. The maximum is 28, because a Worker has 30 s after its response. */
  seconds?: number;
  /** The database driver. Default: by the bindings. */
  connect?: Connect;
};

/** The part of an invocation's context that the Worker uses. */
type Execution = { waitUntil(promise: Promise<unknown>): void; passThroughOnException(): void };

export type Worker = {
  fetch(request: Request, env: Bindings, execution?: Execution): Response | Promise<Response>;
  scheduled(event: unknown, env: Bindings): Promise<void>;
  /** Export it under this name if wrangler.toml binds it. */
  Alarm: AlarmClass;
};

/** Runs all functions, even after a failure, and throws their errors at the end. */
async function runAll(...jobs: (() => Promise<unknown>)[]): Promise<void> {
  const errors: unknown[] = [];
  for (const job of jobs) await job().catch((error) => errors.push(error));
  if (errors.length > 1) throw new AggregateError(errors, errors.map(String).join('; '));
  if (errors.length > 0) throw errors[0];
}

/** The HTTP API, maintenance for a cron trigger, and consumers that an enqueue wakes. */
export function createWorker({
  consumers: definitions = [],
  middleware,
  seconds = 25,
  connect = open,
}: WorkerOptions = {}): Worker {
  if (!(seconds >= 3 && seconds <= 28))
    throw new RangeError('createWorker: seconds must be 3 to 28');
  const consumers = definitions.map((definition) =>
    middleware
      ? { ...definition, handler: withMiddleware(definition.handler, middleware) }
      : definition,
  );
  const duplicate = consumers.find(
    ({ queue }, n) => consumers.findIndex((consumer) => consumer.queue === queue) < n,
  );
  if (duplicate)
    throw new RangeError(
      `createWorker: ${duplicate.queue} has two consumers; define one for each queue`,
    );
  const notifyAlarm = alarmNotifier();
  const borrowed = borrowedConnections(connect);
  const wakes = wakeAfterRequest(connect, consumers, {
    seconds,
    borrowed,
    notifyAlarm,
  });
  const app = createApp(borrowed.connect, {
    onChange(c) {
      wakes.onChange(c);
      const changed = c.get('changes');
      const message = {
        changed: changed === undefined ? [] : changed,
        passOn: c.get('passOn') ?? [],
      };
      if (c.env.ALARM) keepAliveOf(c)?.(notifyAlarm(c.env, message));
    },
    hubOf: ({ ALARM }) => (ALARM ? alarmHub(ALARM) : null),
    freeConsumerOf: wakes.freeConsumerOf,
  });
  const queues = new Set(consumers.map(({ queue }) => queue));
  const allConsumers = withPush(consumers);
  const enough_seconds = enoughSeconds(seconds);
  return {
    async fetch(request, env, execution) {
      // Any queue may have push, so a Worker that pushes checks each enqueue.
      const mayEnqueue = execution && (queues.size > 0 || env.TOCK_PUSH_SECRET);
      const queue = enqueuedTo(request.method, mayEnqueue ? new URL(request.url).pathname : '');
      if (!execution || queue === null || !(queues.has(queue) || env.TOCK_PUSH_SECRET)) {
        return app.fetch(request, env, execution as never);
      }
      const ownEnv = borrowed.lend(env);
      const answered = Promise.resolve(app.fetch(request, ownEnv, execution as never));
      // If the client disconnects, the tasks that the call has claimed for a consumer are to be worked on all the same.
      execution.waitUntil(answered);
      try {
        return await answered;
      } finally {
        execution.waitUntil(borrowed.settle(ownEnv));
      }
    },
    scheduled: async (_event, env) =>
      runAll(
        () => enableArchive(connect, env),
        ...eachNode(env).map(
          (node) => () => connect(node, (query) => query('select tock.tick() as next_wake_at')),
        ),
        () => drain(connect, env, allConsumers, { seconds, enough_seconds, worker: 'scheduled' }),
        () => runArchive(connect, env),
        () => notifyAlarm(env, { changed: null, passOn: [] }),
      ),
    Alarm: createAlarm(connect, allConsumers, seconds),
  };
}
