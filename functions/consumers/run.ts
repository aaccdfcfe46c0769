import { LeaseLost, WorkerStopped } from '../../client/errors.ts';
import { pause } from '../../client/pause.ts';
import type { HeldTask } from '../../client/worker/held.ts';
import { doneWith, type End, endOf, told as spelled } from '../../client/worker/outcome.ts';
import { contextOf, type RunTask, type Said } from '../../client/worker/run.ts';
import type { Query } from '../query.ts';
import { type ConsumerContext, plainContext } from './context.ts';
import { effectOf } from './effect.ts';

const notOurs = 'this task is no longer ours';

/** No number is made of that text: the error undoes the effect. */
function completing(statement: string, at: number): string {
  const { text, read } = effectOf(statement, at);
  // A comment may stand at the end of it.
  return `with effect as ${read ? 'materialized ' : ''}(${text}
  ), ours as materialized (
    select c.completed from tock.complete(p_lease => $${at + 1}::uuid, p_results => $${at + 2}::jsonb) c
  )
  select case when coalesce(sum(o.completed), 0) <> 1 then ('${notOurs}' || count(*))::integer end as done${
    read ? ', (select count(*) from effect) as read' : ''
  }
  from ours o`;
}

// Class 08 and the driver's own: whether the statement was done is not known.
const isUnknown = ({ code = '' }: { code?: string }) => !code || /^(08|57P0|E[A-Z]+$)/.test(code);

/** Null as long as no call of completeWith() may have completed the task. */
type Told = Extract<End, { kind: 'told' }> | null;

/** A handler that sends it again, as its answer was lost, would have its effect twice: a second completion is answered like the first. */
function completer(query: Query, held: HeldTask, said: Said) {
  let told: Told = null;
  let going: Promise<void> | null = null;

  async function send(text: string, values: unknown[]): Promise<void> {
    try {
      await query(text, values);
      told = { kind: 'told', as: 'done' };
    } catch (error) {
      const lost = (error as Error).message.includes(notOurs);
      if (lost || isUnknown(error as { code?: string })) told = { kind: 'told', as: 'lost' };
      throw lost ? new LeaseLost(409, { detail: 'This task is no longer yours.' }) : error;
    } finally {
      going = null;
    }
  }

  async function complete(text: string, values: unknown[], result: unknown): Promise<void> {
    const statement = completing(text, values.length);
    const results = [{ id: held.task.id, ...(result !== undefined && { result }), ...said }];
    const all = [...values, held.lease, JSON.stringify(results)];
    if (told || going) throw new Error('completeWith: it may have completed this task already');
    going = send(statement, all);
    await going;
  }

  const completeWith: ConsumerContext['completeWith'] = (text, values = [], result) => {
    const completed = complete(text, values, result);
    // Of a handler that doesn't wait for it, the runner does.
    completed.catch(() => {});
    return completed;
  };
  return { completeWith, told: () => told, settled: async () => going };
}

/** A handler that its Worker's end cuts short has failed when it had as many seconds, or that share of an invocation. */
const FAIR_SECONDS = 15;
const FAIR_SHARE = 0.7;
/** How long a handler has to end by itself; it is given back a second after its signal aborts. */
const GRACE_MS = 500;

export const fairSeconds = (seconds: number) => Math.min(FAIR_SECONDS, FAIR_SHARE * seconds);

/** The failure of a handler that had a fair share of its Worker's time: given back it would be begun for ever. */
function timedOut(seconds: number, fair: number, { reason }: AbortSignal): Error | null {
  if (!(reason instanceof WorkerStopped) || seconds < fair) return null;
  const message = `not done in ${Math.floor(seconds)} s, and one invocation has no more`;
  return Object.assign(new Error(message), { name: 'TimedOut', stack: undefined });
}

const aborted = (signal: AbortSignal) =>
  new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });

/** Runs a consumer's handler with all that its context has. */
export function runner(
  query: Query,
  env: ConsumerContext['env'],
  left: () => number,
  fair: number,
): RunTask {
  return async (held, handler, error) => {
    const begun = performance.now();
    const { signal } = held.abort;
    const [plain, said] = contextOf(held);
    const { completeWith, told, settled } = completer(query, held, said);
    const context = { ...plain, ...plainContext(held, env, left), completeWith };
    let had = 0;
    const over = aborted(signal).then(() => {
      had = (performance.now() - begun) / 1000;
    });
    const late = () => timedOut(had, fair, signal);

    async function handled(): Promise<End> {
      try {
        const result = await handler(held.task, context as never);
        await settled();
        return told() ?? doneWith({ ...(result !== undefined && { result }), ...said });
      } catch (thrown) {
        if (signal.aborted) await over;
        const why = late();
        error(why ?? thrown);
        await settled().catch(() => {});
        return told() ?? (why ? failed(why) : endOf(thrown, signal));
      }
    }

    /** Of a handler that takes no notice. */
    async function cut(): Promise<End> {
      await over;
      await pause(GRACE_MS);
      const why = late();
      if (!why || held.ended) return new Promise(() => {});
      error(why);
      return told() ?? failed(why);
    }

    return Promise.race([handled(), cut()]);
  };
}

const failed = (why: Error): End => ({ kind: 'failed', said: { error: spelled(why) } });
