import { Fatal } from '../../client/errors.ts';
import type { Claimed } from '../../client/types.ts';
import { sendMessage } from '../compat/qstash/deliver.ts';
import { messageOf } from '../compat/qstash/message.ts';
import { PUBLISHED } from '../compat/qstash/names.ts';
import { signingKeys } from '../compat/qstash/sign.ts';
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
type PushQueue = Generation & {
  push: { url?: string | null; timeout_seconds?: number | null };
  /** The generation of QStash's signing keys, null without a message yet. */
  qstash: number | null;
};

/** Cloudflare allows an invocation six connections at once; the database uses one of them. */
const MAX_CONCURRENT = 5;
const DEFAULT_TIMEOUT = 15;
/** No push starts if less of the Worker's time is left. */
const MIN_SECONDS = 1;
/** Time reserved for the last reports of the Worker. */
const MARGIN_SECONDS = 0.25;
const LEASE_SECONDS = 60;

const pushQueuesSql = `select q.queue, q.push, q.generation, to_json(q.previous_until) #>> '{}' as previous_until,
    (select s.generation from tock.push_secret(p_queue => '${PUBLISHED}') as s) as qstash
  from tock.push_queues(p_queue => $1) as q`;
const enqueueSql =
  'select tock.enqueue(p_queue => $1, p_tasks => $2::jsonb, p_request_id => $3) as ids';

const servesQstash = ({ TOCK_COMPAT = '' }: Bindings) =>
  TOCK_COMPAT.split(',').some((name) => name.trim() === 'qstash');

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

type Enter = ReturnType<typeof createSemaphore>;

/** Adds a callback. What Tock refuses is logged, because it would be refused again. */
const enqueueInto =
  (query: Query, queue: string) =>
  async (task: object, request_id: string): Promise<void> => {
    try {
      await query(enqueueSql, [queue, JSON.stringify([task]), request_id]);
    } catch (error) {
      if (!/^(TK4|22)/.test((error as { code?: string }).code ?? '')) throw error;
      logError(error);
    }
  };

type Sender = { query: Query; secrets: Secrets; post: Post; enter: Enter };

function createHandler(
  { queue, push, qstash }: PushQueue,
  { query, secrets, post, enter }: Sender,
): ConsumerHandler {
  return async (task: Claimed, { env, signal, left }) => {
    const leave = await enter(signal);
    const timer = new AbortController();
    let late: ReturnType<typeof setTimeout> | undefined;
    try {
      if (left() < MIN_SECONDS) return await rejectOnAbort(signal);
      const url = task.push_url ?? push.url;
      if (!url) throw new Fatal('neither this task nor its queue has a push URL');
      const message = servesQstash(env) ? messageOf(task.payload) : null;
      const wanted = message?.timeout ?? push.timeout_seconds ?? DEFAULT_TIMEOUT;
      const limit = timeLimit(wanted, left());
      if (limit !== null) late = setTimeout(() => timer.abort(timeoutError(limit)), limit * 1000);
      const both = AbortSignal.any([signal, timer.signal]);
      const delivery = { env, post, secrets, signal: both };
      const send = (form?: Form) =>
        Promise.race([deliver(url, task, delivery, form), rejectOnAbort(both)]);
      if (!message) return await send();
      const { current: key } = await signingKeys(env, qstash ?? 1);
      const enqueue = enqueueInto(query, queue);
      return await sendMessage(message, task, { key, send, enqueue, signal });
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
  const consumers = queues.map(async (pushQueue) => ({
    queue: pushQueue.queue,
    batch: concurrency,
    concurrency,
    lease_seconds: LEASE_SECONDS,
    handler: createHandler(pushQueue, {
      query,
      secrets: await secretsOf(env, pushQueue),
      post,
      enter,
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
