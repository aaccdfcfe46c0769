import { Fatal } from '../../client/errors.ts';
import { type MessageSender, messageIn, messageSender } from '../compat/qstash/push.ts';
import type { ConsumerHandler } from '../consumers/context.ts';
import type { Consumer } from '../consumers/define.ts';
import { type Consumers, logError } from '../consumers/drain.ts';
import type { Query } from '../database/types.ts';
import type { Bindings } from '../env.ts';
import { deliver, type Form } from './deliver.ts';
import { allowsPrivate } from './guard.ts';
import { postGuarded } from './node.ts';
import { isWorkers, type Post, postByFetch } from './post.ts';
import { type Generation, masterSecrets, type Secrets, secretsOf } from './secret.ts';
import { createSemaphore } from './slots.ts';

/** A queue with push, as stored in the database. */
type PushQueue = Generation & { push: { url?: string | null; timeout_seconds?: number | null } };

/** Cloudflare allows an invocation six connections at once; the database uses one of them. */
const MAX_CONCURRENT = 5;
const DEFAULT_TIMEOUT = 15;
/** No push starts if less of the Worker's time is left. */
const MIN_SECONDS = 1;
/** Time reserved for the last reports of the Worker. */
const MARGIN_SECONDS = 0.25;
const LEASE_SECONDS = 60;

const pushQueuesSql = `select queue, push, generation, to_json(previous_until) #>> '{}' as previous_until
  from tock.push_queues(p_queue => $1)`;

/** The Workers runtime reaches only public addresses. On Node, Tock checks them, unless private ones are allowed. */
const choosePost = (env: Bindings): Post =>
  isWorkers() || allowsPrivate(env) ? postByFetch : postGuarded();

const rejectOnAbort = (signal: AbortSignal) =>
  new Promise<never>((_, reject) => {
    const rejectNow = () => reject(signal.reason);
    if (signal.aborted) rejectNow();
    else signal.addEventListener('abort', rejectNow, { once: true });
  });

function timeoutError(seconds: number) {
  const error = new Error(`no answer within ${Math.round(seconds * 10) / 10} s`);
  return Object.assign(error, { name: 'TimedOut', details: {} });
}

/**
 * The seconds after which a push fails; null if the Worker's time ends too early: then the push is released instead. A
 * push that gets the default timeout or more fails, or an endpoint that is always too slow would be tried for ever.
 */
function timeLimit(wanted: number, left: number): number | null {
  const granted = Math.min(wanted, left - MARGIN_SECONDS);
  return granted >= Math.min(wanted, DEFAULT_TIMEOUT) ? granted : null;
}

type Sender = {
  secrets: Secrets;
  post: Post;
  enter: ReturnType<typeof createSemaphore>;
  sendMessage: MessageSender | null;
};

function createHandler(
  { push }: PushQueue,
  { secrets, post, enter, sendMessage }: Sender,
): ConsumerHandler {
  return async (task, { env, signal, left }) => {
    const leave = await enter(signal);
    const timer = new AbortController();
    let late: ReturnType<typeof setTimeout> | undefined;
    try {
      if (left() < MIN_SECONDS) return await rejectOnAbort(signal);
      const url = task.push_url ?? push.url;
      if (!url) throw new Fatal('neither this task nor its queue has a push URL');
      const message = sendMessage && messageIn(task);
      const wanted = message?.timeout ?? push.timeout_seconds ?? DEFAULT_TIMEOUT;
      const limit = timeLimit(wanted, left());
      if (limit !== null) late = setTimeout(() => timer.abort(timeoutError(limit)), limit * 1000);
      const both = AbortSignal.any([signal, timer.signal]);
      const delivery = { env, post, secrets, signal: both };
      const send = (form?: Form) =>
        Promise.race([deliver(url, task, delivery, form), rejectOnAbort(both)]);
      return await (message && sendMessage ? sendMessage(message, task, send, signal) : send());
    } finally {
      clearTimeout(late);
      // Aborts a response whose rest is not read.
      timer.abort();
      leave();
    }
  };
}

/** A consumer for each queue with push that may have tasks, or for the named queue. */
export async function pushConsumers(
  query: Query,
  env: Bindings,
  queue: string | null = null,
  post: Post = choosePost(env),
): Promise<Consumer[]> {
  if (masterSecrets(env).length === 0) return [];
  const queues = (await query(pushQueuesSql, [queue])) as PushQueue[];
  const enter = createSemaphore(MAX_CONCURRENT);
  const concurrency = Math.max(1, Math.floor(MAX_CONCURRENT / Math.max(1, queues.length)));
  const names = queues.map((pushQueue) => pushQueue.queue);
  const sendMessage = await messageSender(query, env, names);
  const consumers = queues.map(async (pushQueue) => ({
    queue: pushQueue.queue,
    batch: concurrency,
    concurrency,
    lease_seconds: LEASE_SECONDS,
    handler: createHandler(pushQueue, {
      secrets: await secretsOf(env, pushQueue),
      post,
      enter,
      sendMessage,
    }),
  }));
  return Promise.all(consumers);
}

/** A Worker's own consumers and the push consumers. For a queue with both, only its own consumer works. */
export function withPush(consumers: readonly Consumer[]): Consumers {
  const ownQueues = new Set(consumers.map(({ queue }) => queue));
  return async (query, env) => {
    // A failure of push must not stop the other consumers.
    const pushing = await pushConsumers(query, env).catch((error): Consumer[] => {
      logError(error);
      return [];
    });
    return [...consumers, ...pushing.filter(({ queue }) => !ownQueues.has(queue))];
  };
}
