import { LeaseLost } from '../../client/errors.ts';
import type { HeldTask } from '../../client/worker/held.ts';
import { doneWith, type End, endOf } from '../../client/worker/outcome.ts';
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

/** Runs a consumer's handler with all that its context has. */
export function runner(query: Query, env: ConsumerContext['env'], left: () => number): RunTask {
  return async (held, handler, error) => {
    const [plain, said] = contextOf(held);
    const { completeWith, told, settled } = completer(query, held, said);
    const context = { ...plain, ...plainContext(held, env, left), completeWith };
    try {
      const result = await handler(held.task, context as never);
      await settled();
      return told() ?? doneWith({ ...(result !== undefined && { result }), ...said });
    } catch (thrown) {
      error(thrown);
      await settled().catch(() => {});
      return told() ?? endOf(thrown, held.abort.signal);
    }
  };
}
