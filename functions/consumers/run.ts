import { LeaseLost } from '../../client/errors.ts';
import type { HeldTask } from '../../client/worker/held.ts';
import { doneWith, type End, endOf } from '../../client/worker/outcome.ts';
import { contextOf, type RunTask } from '../../client/worker/run.ts';
import type { Query } from '../query.ts';
import { type ConsumerContext, plainContext } from './context.ts';

const notOurs = 'this task is no longer ours';

/** No number is made of that text: the error undoes the effect. A select must be read to be done at all. */
function completing(text: string, at: number): string {
  const read = /^\s*(select|with)\b/i.test(text) ? ', (select count(*) from effect) as read' : '';
  return `with effect as ${read && 'materialized '}(${text}), ours as materialized (
    select c.completed from tock.complete(p_lease => $${at + 1}::uuid, p_results => $${at + 2}::jsonb) c
  )
  select case when coalesce(sum(o.completed), 0) <> 1 then ('${notOurs}' || count(*))::integer end as done${read}
  from ours o`;
}

// Class 08 and the driver's own: whether the statement was done is not known.
const isUnknown = ({ code = '' }: { code?: string }) => !code || /^(08|57P0|E[A-Z]+$)/.test(code);

/** Null until completeWith() has been called. */
type Told = Extract<End, { kind: 'told' }> | null;

function completer(query: Query, held: HeldTask) {
  let told: Told = null;
  const completeWith: ConsumerContext['completeWith'] = async (text, values = [], result) => {
    const results = [{ id: held.task.id, ...(result !== undefined && { result }) }];
    const all = [...values, held.lease, JSON.stringify(results)];
    try {
      await query(completing(text, values.length), all);
      told = { kind: 'told', as: 'done' };
    } catch (error) {
      const lost = (error as Error).message.includes(notOurs);
      if (lost || isUnknown(error as { code?: string })) told = { kind: 'told', as: 'lost' };
      throw lost ? new LeaseLost(409, { detail: 'This task is no longer yours.' }) : error;
    }
  };
  return { completeWith, told: () => told };
}

/** Runs a consumer's handler with all that its context has. */
export function runner(query: Query, env: ConsumerContext['env'], left: () => number): RunTask {
  return async (held, handler, error) => {
    const [plain, said] = contextOf(held);
    const { completeWith, told } = completer(query, held);
    const context = { ...plain, ...plainContext(held, env, left), completeWith };
    try {
      const result = await handler(held.task, context as never);
      return told() ?? doneWith({ ...(result !== undefined && { result }), ...said });
    } catch (thrown) {
      error(thrown);
      return told() ?? endOf(thrown, held.abort.signal);
    }
  };
}
