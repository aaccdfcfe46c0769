import { pause } from '../../client/pause.ts';
import { sqlSource } from '../../client/sql/source.ts';
import type { ClaimAnswer, Claimed } from '../../client/types.ts';
import { type Bell, bell } from '../../client/worker/bell.ts';
import { type Knocks, type Source, type Worked, work } from '../../client/worker/work.ts';
import type { Connect, Query } from '../database/types.ts';
import type { Bindings } from '../env.ts';
import { type Budget, budget } from './budget.ts';
import type { Consumer } from './define.ts';
import { runner } from './run.ts';
import { type Open, type SerialConnection, serialConnection } from './serial_connection.ts';

/** Consumers, or what finds them in the database. */
export type Consumers =
  | readonly Consumer[]
  | ((query: Query, env: Bindings) => Promise<readonly Consumer[]>);

export type DrainOptions = {
  /** It takes no longer than that, the closing of its connection included. */
  seconds?: number;
  /** A handler that is cut short by the end of it has failed if it had so many, else it is given back. */
  enough_seconds?: number;
  /** As tasks show it. */
  worker?: string;
  /** A way that is open already; the drain closes it. */
  open?: Open | undefined;
  /** Of whoever has brought more meanwhile. */
  knocks?: Knocks;
  on_error?: (error: unknown, task?: Claimed) => void;
};

/** What became of the tasks, and when to come again: null when nothing was left that could be claimed. */
export type Drained = Worked & { again_seconds: number | null };

/** Of its seconds: the end of the connection, then of what is told last. */
const CLOSE_SECONDS = 0.5;
const TELL_SECONDS = 0.5;
/** work() gives back what runs a second after it has aborted its signal. */
const GRACE_SECONDS = 1;
/** A limit that lets a task through within so many seconds is waited for. */
const WORTH_WAITING_SECONDS = 2;

const SECONDS = 25;
/** One that needs more would be begun for ever, and keep others and the database from their rest. */
export const enoughOf = (seconds: number) => seconds * 0.6;

const nothing = (): Drained => ({
  done: 0,
  failed: 0,
  released: 0,
  cancelled: 0,
  lost: 0,
  again_seconds: null,
});

/** How many of its tasks came to something. */
export const total = ({ done, failed, released, lost }: Worked) => done + failed + released + lost;

const sooner = (a: number | null, b: number) => (a === null ? b : Math.min(a, b));

export function logError(error: unknown, task?: Claimed): void {
  const { name = '', message = String(error) } = error as Error;
  console.error(`${task ? `task ${task.id} of ${task.queue}: ` : ''}${name} ${message}`);
}

type Draining = {
  budget: Budget;
  env: Bindings;
  drained: Drained;
  /** Seconds until signals abort. */
  left(): number;
  stop: AbortSignal;
  /** It has no more statements to go on with. */
  stopShort(): void;
  /** Consumers that have something to do; it rings when one has no more. */
  working: number;
  idle: Bell;
  options: DrainOptions;
};

/** A queue's claims: as few as its batch, and none that wait long for a limit. */
function sourceOf(d: Draining, { batch }: Consumer): Source {
  const { query, isShort, of, run, claimed } = d.budget;
  const { enough_seconds = enoughOf(SECONDS) } = d.options;
  const source = of(
    sqlSource({ query: async (text, values) => ({ rows: await query(text, values) }) }),
  );
  return {
    ...source,
    run: run(runner(query, d.env as never, d.left, enough_seconds)),
    async claim(queues, options, signal): Promise<ClaimAnswer> {
      if (isShort()) {
        d.stopShort();
        return { leases: [], state: 'empty', retry_after_seconds: 0 };
      }
      const limit = Math.min(batch, options?.limit ?? 1);
      const answer = await source.claim(queues, { ...options, limit }, signal);
      claimed(answer);
      const { state, retry_after_seconds } = answer;
      if (state !== 'limited' || retry_after_seconds <= WORTH_WAITING_SECONDS) return answer;
      d.drained.again_seconds = sooner(d.drained.again_seconds, retry_after_seconds);
      return { ...answer, state: 'empty' };
    },
  };
}

async function consume(d: Draining, consumer: Consumer): Promise<void> {
  const { queue, handler, batch, concurrency, lease_seconds } = consumer;
  const { seconds = SECONDS, worker = 'worker', knocks, on_error = logError } = d.options;
  const stop_seconds = Math.min(5, seconds / 4);
  const for_seconds = Math.max(0, d.left() - stop_seconds);
  const worked = await work(sourceOf(d, consumer), new Map([[queue, handler as never]]), {
    worker,
    concurrency,
    prefetch: { low: concurrency - 1, high: Math.max(batch, concurrency) },
    until: 'empty',
    for_seconds,
    stop_seconds,
    signal: d.stop,
    lease_seconds,
    on_error,
    ...(knocks && { knocks }),
  });
  for (const kind of Object.keys(worked) as (keyof Worked)[]) d.drained[kind] += worked[kind];
  if (d.left() <= stop_seconds) d.drained.again_seconds = 0;
}

/** One whose queue is empty stays for what others may be told of, as long as one of them works. */
async function stay(d: Draining, consumer: Consumer): Promise<void> {
  const { knocks } = d.options;
  while (true) {
    const seen = knocks?.count();
    const knocked = () => knocks?.count() !== seen;
    await consume(d, consumer).finally(() => {
      d.working--;
      d.idle.ring();
    });
    while (knocks && d.working > 0 && !knocked() && d.left() > 0) {
      await Promise.race([knocks.next(), d.idle.next()]);
    }
    if (!knocked() || d.working === 0 || d.left() === 0) return;
    d.working++;
  }
}

/** Rejections of several that were all given their time. */
async function all(works: Promise<void>[]): Promise<void> {
  const failed = (await Promise.allSettled(works)).flatMap((one) =>
    one.status === 'rejected' ? [one.reason] : [],
  );
  if (failed.length > 1) throw new AggregateError(failed, String(failed[0]?.message));
  if (failed.length > 0) throw failed[0];
}

/** As drain(), over a way that stays open: it takes `seconds` without the end of that. */
export async function drainOver(
  way: SerialConnection,
  env: Bindings,
  consumers: Consumers,
  options: DrainOptions = {},
): Promise<Drained> {
  const end = performance.now() + (options.seconds ?? SECONDS) * 1000;
  const secondsTo = (at: number) => Math.max(0, (at - performance.now()) / 1000);
  const left = () => secondsTo(end - (TELL_SECONDS + GRACE_SECONDS) * 1000);
  const drained = nothing();
  const stop = new AbortController();
  const stopShort = () => {
    drained.again_seconds = 0;
    stop.abort();
  };
  const d: Draining = {
    budget: budget(way, stopShort, left),
    env,
    drained,
    left,
    stop: stop.signal,
    stopShort,
    working: 0,
    idle: bell(),
    options,
  };
  async function go(): Promise<void> {
    // What one leaves behind may be another's, whose queue was empty then, was none of these, or beyond what a look finds.
    for (let before = -1; total(drained) > before && left() > 0; ) {
      before = total(drained);
      const list = typeof consumers === 'function' ? await consumers(way.query, env) : consumers;
      d.working = list.length;
      await all(list.map((one) => stay(d, one)));
      if (list === consumers && list.length === 1) return;
    }
  }
  const over = new AbortController();
  const late = pause(secondsTo(end) * 1000, over.signal).then(() => 'late');
  try {
    const gone = go();
    gone.catch(() => {});
    if (await Promise.race([gone, late])) drained.again_seconds = 0;
    return drained;
  } finally {
    over.abort();
  }
}

/**
 * Works on the consumers' queues until they are empty or its time is nearly up. It stops claiming before that,
 * gives back what has not begun, aborts the signals of what runs, gives that back too, and leaves: a handler that
 * takes no notice is left behind. Rejects when a claim does, after the other consumers have ended.
 */
export async function drain(
  connect: Connect,
  env: Bindings,
  consumers: Consumers,
  options: DrainOptions = {},
): Promise<Drained> {
  const { seconds = SECONDS } = options;
  const way = serialConnection(connect, env, options.open);
  try {
    return await drainOver(way, env, consumers, { ...options, seconds: seconds - CLOSE_SECONDS });
  } finally {
    await Promise.race([way.close(), pause(CLOSE_SECONDS * 1000)]);
  }
}
