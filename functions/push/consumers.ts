import { Fatal } from '../../client/errors.ts';
import type { ConsumerHandler } from '../consumers/context.ts';
import type { Consumer } from '../consumers/define.ts';
import { type Consumers, logError } from '../consumers/drain.ts';
import type { Query } from '../database/types.ts';
import type { Bindings } from '../env.ts';
import { deliver } from './deliver.ts';
import { allowsPrivate } from './guard.ts';
import { postGuarded } from './node.ts';
import { isWorkers, type Post, postByFetch } from './post.ts';
import { type Generation, mastersOf, type Secrets, secretsOf } from './secret.ts';
import { slots } from './slots.ts';

/** A queue with push, as the database knows it. */
type PushQueue = Generation & { push: { url?: string | null; timeout_seconds?: number | null } };

/** A Worker has six connections at once, and the database is one of them. */
const MOST_AT_ONCE = 5;
const DEFAULT_TIMEOUT = 15;
/** With less than that of its Worker's time, a push is not begun. */
const LEAST_SECONDS = 1;
/** Of what is left to the Worker, for its last words. */
const MARGIN_SECONDS = 0.25;
const LEASE_SECONDS = 60;

const found = `select queue, push, generation, to_json(previous_until) #>> '{}' as previous_until
  from tock.push_queues(p_queue => $1)`;

/** A name is looked up and judged here, unless the runtime does so or nobody is to. */
const postOf = (env: Bindings): Post =>
  isWorkers() || allowsPrivate(env) ? postByFetch : postGuarded();

const aborted = (signal: AbortSignal) =>
  new Promise<never>((_, reject) => {
    const go = () => reject(signal.reason);
    if (signal.aborted) go();
    else signal.addEventListener('abort', go, { once: true });
  });

function timeoutOf(seconds: number) {
  const error = new Error(`no answer within ${Math.round(seconds * 10) / 10} s`);
  return Object.assign(error, { name: 'TimedOut', details: {} });
}

/**
 * How long a push may take. One that its Worker's time cuts short has had no fair chance and is given back; but
 * with as much as the default it had, or an endpoint that is always too slow would be asked for ever.
 */
function limitOf(wanted: number, left: number): number | null {
  const granted = Math.min(wanted, left - MARGIN_SECONDS);
  return granted >= Math.min(wanted, DEFAULT_TIMEOUT) ? granted : null;
}

type Enter = ReturnType<typeof slots>;

function handlerOf(
  { push }: PushQueue,
  secrets: Secrets,
  post: Post,
  enter: Enter,
): ConsumerHandler {
  return async (task, { env, signal, left }) => {
    const leave = await enter(signal);
    const timer = new AbortController();
    let late: ReturnType<typeof setTimeout> | undefined;
    try {
      if (left() < LEAST_SECONDS) return await aborted(signal);
      const url = task.push_url ?? push.url;
      if (!url) throw new Fatal('neither this task nor its queue says where to push it');
      const limit = limitOf(push.timeout_seconds ?? DEFAULT_TIMEOUT, left());
      if (limit !== null) late = setTimeout(() => timer.abort(timeoutOf(limit)), limit * 1000);
      const both = AbortSignal.any([signal, timer.signal]);
      const sent = deliver(url, task, { env, post, secrets, signal: both });
      return await Promise.race([sent, aborted(both)]);
    } finally {
      clearTimeout(late);
      // What an answer still sends that nobody reads.
      timer.abort();
      leave();
    }
  };
}

/** A consumer for each queue with push that may have something, or for the one that is named. */
export async function pushConsumers(
  query: Query,
  env: Bindings,
  queue: string | null = null,
  post: Post = postOf(env),
): Promise<Consumer[]> {
  if (mastersOf(env).length === 0) return [];
  const queues = (await query(found, [queue])) as PushQueue[];
  const enter = slots(MOST_AT_ONCE);
  const concurrency = Math.max(1, Math.floor(MOST_AT_ONCE / Math.max(1, queues.length)));
  const consumers = queues.map(async (one) => ({
    queue: one.queue,
    batch: concurrency,
    concurrency,
    lease_seconds: LEASE_SECONDS,
    handler: handlerOf(one, await secretsOf(env, one), post, enter),
  }));
  return Promise.all(consumers);
}

/** A Worker's own consumers, and those that push; a queue that has one of its own is that one's. */
export function andPush(consumers: readonly Consumer[]): Consumers {
  const own = new Set(consumers.map(({ queue }) => queue));
  return async (query, env) => {
    // What is wrong with push must not keep the others from working.
    const pushing = await pushConsumers(query, env).catch((error): Consumer[] => {
      logError(error);
      return [];
    });
    return [...consumers, ...pushing.filter(({ queue }) => !own.has(queue))];
  };
}
