import type { Context } from 'hono';
import * as statements from '../../client/sql/statements.ts';
import type { ClaimAnswer } from '../../client/types.ts';
import type { Wakeups } from '../../client/worker/work.ts';
import type { Message } from '../alarm/notify.ts';
import type { Connect } from '../database/types.ts';
import type { Bindings } from '../env.ts';
import type { OnChange } from '../http/app.ts';
import type { Env } from '../http/endpoint.ts';
import { pushConsumers, withPush } from '../push/consumers.ts';
import type { BorrowedConnections } from './borrowed_connections.ts';
import type { Consumer } from './define.ts';
import { type Consumers, drain, enoughSeconds, logError, total } from './drain.ts';
import { type FreeConsumer, parseClaimed } from './hand_over.ts';
import type { OpenConnection } from './serial_connection.ts';
import { type KeepAlive, singleFlight } from './single_flight.ts';

/** Minimum time between two checks of all queues, which follow calls other than enqueue. */
const QUIET_MS = 1000;

/** The shortest time for which work starts. */
const LEAST_SECONDS = 5;

/** A call whose statement takes longer has no consumer for itself any more. */
const RESERVED_MS = 5000;

/** What the call that starts a drain passes on to it. */
type Resource = { open?: OpenConnection | undefined; claimed?: ClaimAnswer | undefined };

/** Routes that make no task ready, of those that may change anything. */
const readOnlyRoutes = /\/take$|^\/v1\/keys/;
const enqueueRoute = /^\/v1\/queues\/([^/]+)\/tasks$/;

/** The request's waitUntil(); null without an execution context, as on Node. */
export function keepAliveOf(c: Context<Env>): KeepAlive | null {
  try {
    const { executionCtx } = c;
    return (promise) => executionCtx.waitUntil(promise);
  } catch {
    return null;
  }
}

/** Null for an invalid name, which the route refuses. */
function decodeName(encoded: string): string | null {
  try {
    return decodeURIComponent(encoded);
  } catch {
    return null;
  }
}

/** The queue that a request enqueues into. */
export function enqueuedTo(method: string, path: string): string | null {
  const [, queue] = (method === 'POST' && enqueueRoute.exec(path)) || [];
  return queue === undefined ? null : decodeName(queue);
}

type Options = {
  seconds: number;
  borrowed: BorrowedConnections;
  /** Notifies the Durable Object of tasks that are left or may be due later. */
  notifyAlarm(env: Bindings, message: Message): Promise<void>;
};

type WakeAfterRequest = {
  onChange: OnChange;
  freeConsumerOf(c: Context<Env>): FreeConsumer | null;
};

/** After a call that may have made tasks ready, drains them in the Worker's time after the response. */
export function wakeAfterRequest(
  connect: Connect,
  consumers: readonly Consumer[],
  { seconds, borrowed, notifyAlarm }: Options,
): WakeAfterRequest {
  let env: Bindings = {};
  const createWake = (consumerList: Consumers, quiet_ms = 0) => {
    const work = async (
      left_seconds: number,
      wakeups: Wakeups,
      keepAlive: KeepAlive,
      { open, claimed }: Resource = {},
    ) => {
      const deadline = performance.now() + left_seconds * 1000;
      const enough_seconds = enoughSeconds(seconds);
      const options = {
        seconds: left_seconds,
        enough_seconds,
        wakeups,
        open,
        worker: 'woken',
        claimed,
      };
      const result = await drain(connect, env, consumerList, options).catch(logError);
      if (!result || result.again_seconds !== null || total(result) > 0)
        keepAlive(notifyAlarm(env, { changed: null, passOn: [] }));
      if (result && total(result) > 0 && quiet_ms === 0) wakeOthers(keepAlive, deadline);
    };
    return singleFlight<Resource>(work, { seconds, quiet_ms });
  };
  /** The handlers may have made tasks of other queues ready. */
  function wakeOthers(keepAlive: KeepAlive, deadline: number): void {
    const left_seconds = (deadline - performance.now()) / 1000;
    const hasOthers = queues.size > 1 || env.TOCK_PUSH_SECRET;
    if (!env.ALARM && hasOthers && left_seconds > LEAST_SECONDS) wakeAll(keepAlive, left_seconds);
  }
  const names = new Set(consumers.map(({ queue }) => queue));
  const consumersOf = (name: string) => consumers.filter(({ queue }) => queue === name);
  const queues = new Map([...names].map((name) => [name, createWake(consumersOf(name))]));
  /** The queues whose consumer a call has been promised, and until when: the call may be killed. */
  const reserved = new Map<string, number>();
  const wakeAll = createWake(withPush(consumers), QUIET_MS);
  // The map gets an entry only for an existing queue with push, so it stays small.
  const wakeForPush = (queue: string) => {
    const existing =
      queues.get(queue) ?? createWake((query, env) => pushConsumers(query, env, queue));
    queues.set(queue, existing);
    return existing;
  };
  function freeConsumerOf(c: Context<Env>): FreeConsumer | null {
    const queue = enqueuedTo(c.req.method, c.req.path);
    const [consumer] = queue === null ? [] : consumersOf(queue);
    // The drain that works on the tasks has a connection for each node, and not that of the call.
    if (c.env?.TOCK_NODES) return null;
    if (!consumer || c.get('rights') !== 'key' || !keepAliveOf(c)) return null;
    const now = performance.now();
    if (now < (reserved.get(consumer.queue) ?? 0) || !queues.get(consumer.queue)?.isIdle())
      return null;
    reserved.set(consumer.queue, now + RESERVED_MS);
    const { batch: limit, lease_seconds } = consumer;
    return { limit, lease_seconds, release: () => void reserved.delete(consumer.queue) };
  }

  /** Another call has started the consumer meanwhile: it finds the tasks when they are released. */
  async function giveBack({ leases }: ClaimAnswer): Promise<void> {
    await connect(env, async (query) => {
      for (const { lease } of leases) await query(statements.release, [lease, null]);
    }).catch(logError);
  }

  function onChange(c: Context<Env>): void {
    const keepAlive = (consumers.length > 0 || c.env.TOCK_PUSH_SECRET) && keepAliveOf(c);
    if (!keepAlive) return;
    env = c.env;
    const queue = enqueuedTo(c.req.method, c.req.path);
    if (queue === null) {
      const mayBeReady = c.get('changes') === null && !readOnlyRoutes.test(c.req.path);
      if (!env.ALARM && mayBeReady) wakeAll(keepAlive);
    } else {
      const text = c.get('claimed');
      const claimed = text === undefined ? undefined : parseClaimed(queue, text);
      const wakes = c.get('pushes') ? wakeForPush(queue) : queues.get(queue);
      const open = borrowed.connectionOf(env);
      if (wakes?.(keepAlive, seconds, { open, claimed })) borrowed.taken(env);
      else if (wakes && claimed) keepAlive(giveBack(claimed).then(() => void wakes(keepAlive)));
    }
  }

  return { onChange, freeConsumerOf };
}
