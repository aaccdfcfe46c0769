import type { Context } from 'hono';
import type { Knocks } from '../../client/worker/work.ts';
import type { Connect } from '../database/types.ts';
import type { Bindings } from '../env.ts';
import type { Changed } from '../http/app.ts';
import type { Env } from '../http/endpoint.ts';
import { andPush, pushConsumers } from '../push/consumers.ts';
import type { BorrowedConnections } from './borrowed_connections.ts';
import type { Consumer } from './define.ts';
import { type Consumers, drain, enoughOf, logError, total } from './drain.ts';
import type { Open } from './serial_connection.ts';
import { type Hold, singleFlight } from './single_flight.ts';

/** For what calls other than an enqueue make ready: a look at all queues, at most one each second. */
const QUIET_MS = 1000;

/** No work is begun for less. */
const LEAST_SECONDS = 5;

/** What makes no task ready: somebody takes one, or goes on with it. */
const taking = /\/(claim|claim-own|extend|take)$|^\/v1\/keys/;
const enqueue = /^\/v1\/queues\/([^/]+)\/tasks$/;

/** Null where there is nothing that keeps an invocation alive, as on Node. */
export function holdOf(c: Context<Env>): Hold | null {
  try {
    const { executionCtx } = c;
    return (promise) => executionCtx.waitUntil(promise);
  } catch {
    return null;
  }
}

/** What is no name goes on to be refused. */
function named(encoded: string): string | null {
  try {
    return decodeURIComponent(encoded);
  } catch {
    return null;
  }
}

/** The queue that a request enqueues into. */
export function enqueuedTo(method: string, path: string): string | null {
  const [, queue] = (method === 'POST' && enqueue.exec(path)) || [];
  return queue === undefined ? null : named(queue);
}

type Options = {
  seconds: number;
  loans: BorrowedConnections;
  /** Hears of tasks that may be due later, or left over. */
  tell(env: Bindings): Promise<void>;
};

/** After a call that has made tasks ready, works on them in the time after its answer. */
export function wakeAfterRequest(
  connect: Connect,
  consumers: readonly Consumer[],
  { seconds, loans, tell }: Options,
): Changed {
  let env: Bindings = {};
  const wake = (list: Consumers, quiet_ms = 0) => {
    const work = async (left: number, knocks: Knocks, hold: Hold, open?: Open) => {
      const end = performance.now() + left * 1000;
      const enough_seconds = enoughOf(seconds);
      const options = { seconds: left, enough_seconds, knocks, open, worker: 'woken' };
      const drained = await drain(connect, env, list, options).catch(logError);
      if (!drained || drained.again_seconds !== null || total(drained) > 0) hold(tell(env));
      if (drained && total(drained) > 0 && quiet_ms === 0) others(hold, end);
    };
    return singleFlight<Open>(work, { seconds, quiet_ms });
  };
  /** What has ended may have made tasks of other queues ready. */
  function others(hold: Hold, end: number): void {
    const left = (end - performance.now()) / 1000;
    const several = queues.size > 1 || env.TOCK_PUSH_SECRET;
    if (!env.ALARM && several && left > LEAST_SECONDS) all(hold, left);
  }
  const names = new Set(consumers.map(({ queue }) => queue));
  const of = (name: string) => consumers.filter(({ queue }) => queue === name);
  const queues = new Map([...names].map((name) => [name, wake(of(name))]));
  const all = wake(andPush(consumers), QUIET_MS);
  // As many as there are queues with push: only of those it is said that they have.
  const pushing = (queue: string) => {
    const known = queues.get(queue) ?? wake((query, env) => pushConsumers(query, env, queue));
    queues.set(queue, known);
    return known;
  };
  return (c) => {
    const hold = (consumers.length > 0 || c.env.TOCK_PUSH_SECRET) && holdOf(c);
    if (!hold) return;
    env = c.env;
    const queue = enqueuedTo(c.req.method, c.req.path);
    if (queue === null) {
      if (!env.ALARM && !taking.test(c.req.path)) all(hold);
    } else {
      const wakes = c.get('pushes') ? pushing(queue) : queues.get(queue);
      if (wakes?.(hold, seconds, loans.of(env))) loans.taken(env);
    }
  };
}
