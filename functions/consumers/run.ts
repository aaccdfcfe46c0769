import { LeaseLost, WorkerStopped } from '../../client/errors.ts';
import { pause } from '../../client/pause.ts';
import type { HeldTask } from '../../client/worker/held.ts';
import { doneWith, type End, endOf, told as toldOf } from '../../client/worker/outcome.ts';
import { contextOf, type RunTask, type Said } from '../../client/worker/run.ts';
import type { Query } from '../database/types.ts';
import { type ConsumerContext, plainContext } from './context.ts';
import { transactionalStatement } from './transactional_statement.ts';

const notOurs = 'this task is no longer ours';

/** No number is made of that text: the error undoes the effect. */
function completing(statement: string, at: number): string {
  const { text, read } = transactionalStatement(statement, at);
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

/** A handler that hears of its Worker's end has a second; then it is given back. */
const GRACE_MS = 800;

/** Rejects for a handler that has not ended with its Worker, though it had as much of its time as any can have. */
function tooLong(signal: AbortSignal, enough_seconds: number) {
  const began = performance.now();
  const over = new AbortController();
  let error: Error | null = null;
  const stopped = new Promise<never>((_, reject) => {
    const stop = () => {
      const seconds = (performance.now() - began) / 1000;
      if (!(signal.reason instanceof WorkerStopped) || seconds < enough_seconds) return;
      const message = `not ended within ${Math.round(seconds)} s, when the time of its Worker was over`;
      const late = Object.assign(new Error(message), { name: 'TimedOut' });
      error = late;
      void pause(GRACE_MS, over.signal).then(() => reject(late));
    };
    signal.addEventListener('abort', stop, { once: true, signal: over.signal });
  });
  stopped.catch(() => {});
  return { stopped, error: () => error, end: () => over.abort() };
}

const failed = (error: Error): End => ({ kind: 'failed', said: { error: toldOf(error) } });

/** Runs a consumer's handler with all that its context has. */
export function runner(
  query: Query,
  env: ConsumerContext['env'],
  left: () => number,
  enough_seconds: number,
): RunTask {
  return async (held, handler, error) => {
    const [plain, said] = contextOf(held);
    const { completeWith, told, settled } = completer(query, held, said);
    const context = { ...plain, ...plainContext(held, env, left), completeWith };
    const late = tooLong(held.abort.signal, enough_seconds);
    const handled = async () => handler(held.task, context as never);
    try {
      const result = await Promise.race([handled(), late.stopped]);
      await settled();
      return told() ?? doneWith({ ...(result !== undefined && { result }), ...said });
    } catch (thrown) {
      error(thrown);
      await settled().catch(() => {});
      const cause = late.error();
      return told() ?? (cause ? failed(cause) : endOf(thrown, held.abort.signal));
    } finally {
      late.end();
    }
  };
}
