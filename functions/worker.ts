import { type Middleware, withMiddleware } from '../client/worker/handlers.ts';
import { type AlarmClass, createAlarm } from './alarm/alarm.ts';
import { alarmNotifier } from './alarm/notify.ts';
import { enableArchive, runArchive } from './archive/step.ts';
import { borrowedConnections } from './consumers/borrowed_connections.ts';
import type { Consumer } from './consumers/define.ts';
import { drain, enoughSeconds } from './consumers/drain.ts';
import { enqueuedTo, keepAliveOf, wakeAfterRequest } from './consumers/wake_after_request.ts';
import { connect as open } from './database/connect.ts';
import type { Connect } from './database/types.ts';
import type { Bindings } from './env.ts';
import { createApp } from './http/app.ts';
import { andPush } from './push/consumers.ts';

export { Fatal, LeaseLost, RetryIn, TaskCancelled, WorkerStopped } from '../client/errors.ts';
export type { Middleware, Trace } from '../client/worker/handlers.ts';
export type { ConsumerContext, ConsumerHandler } from './consumers/context.ts';
export { type Consumer, defineConsumer } from './consumers/define.ts';
export type { Bindings } from './env.ts';

export type WorkerOptions = {
  consumers?: readonly Consumer[];
  /** Goes around each attempt, as a span of its trace does. */
  middleware?: Middleware;
  /** How long one invocation works: up to 28, as a Worker has 30 s after its answer. */
  seconds?: number;
  /** The way to the database; by its bindings, unless it is said. */
  connect?: Connect;
};

/** What of an invocation's context is needed. */
type Execution = { waitUntil(promise: Promise<unknown>): void; passThroughOnException(): void };

export type Worker = {
  fetch(request: Request, env: Bindings, execution?: Execution): Response | Promise<Response>;
  scheduled(event: unknown, env: Bindings): Promise<void>;
  /** To be exported under this name where wrangler.toml binds it. */
  Alarm: AlarmClass;
};

/** All of it, whatever fails; what failed is thrown at the end. */
async function each(...duties: (() => Promise<unknown>)[]): Promise<void> {
  const failed: unknown[] = [];
  for (const duty of duties) await duty().catch((error) => failed.push(error));
  if (failed.length > 1) throw new AggregateError(failed, failed.map(String).join('; '));
  if (failed.length > 0) throw failed[0];
}

/** The HTTP door, the duties for a cron trigger, and consumers that are woken by what is enqueued. */
export function createWorker({
  consumers: given = [],
  middleware,
  seconds = 25,
  connect = open,
}: WorkerOptions = {}): Worker {
  if (!(seconds >= 3 && seconds <= 28)) throw new RangeError('createWorker: seconds is 3 to 28');
  const consumers = given.map((one) =>
    middleware ? { ...one, handler: withMiddleware(one.handler, middleware) } : one,
  );
  const twice = consumers.find(
    ({ queue }, n) => consumers.findIndex((one) => one.queue === queue) < n,
  );
  if (twice) throw new RangeError(`createWorker: ${twice.queue} has two consumers`);
  const tell = alarmNotifier();
  const lending = borrowedConnections(connect);
  const wake = wakeAfterRequest(connect, consumers, {
    seconds,
    borrowed: lending,
    notifyAlarm: tell,
  });
  const app = createApp(lending.connect, (c) => {
    wake(c);
    if (c.env.ALARM) keepAliveOf(c)?.(tell(c.env));
  });
  const queues = new Set(consumers.map(({ queue }) => queue));
  const all = andPush(consumers);
  const enough_seconds = enoughSeconds(seconds);
  return {
    async fetch(request, env, execution) {
      // A queue may have push.
      const asked = execution && (queues.size > 0 || env.TOCK_PUSH_SECRET);
      const queue = enqueuedTo(request.method, asked ? new URL(request.url).pathname : '');
      if (!execution || queue === null || !(queues.has(queue) || env.TOCK_PUSH_SECRET)) {
        return app.fetch(request, env, execution as never);
      }
      const own = lending.lend(env);
      try {
        return await app.fetch(request, own, execution as never);
      } finally {
        execution.waitUntil(lending.settle(own));
      }
    },
    scheduled: (_event, env) =>
      each(
        () => enableArchive(connect, env),
        () => connect(env, (query) => query('select tock.tick() as next_wake_at')),
        () => drain(connect, env, all, { seconds, enough_seconds, worker: 'scheduled' }),
        () => runArchive(connect, env),
        () => tell(env),
      ),
    Alarm: createAlarm(connect, all, seconds),
  };
}
