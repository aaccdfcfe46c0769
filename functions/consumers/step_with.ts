import { LeaseLost } from '../../client/errors.ts';
import type { StepOutcome } from '../../client/types.ts';
import type { LeasedTask } from '../../client/worker/leased_tasks.ts';
import type { EffectOptions } from '../../client/worker/step_types.ts';
import type { RunSteps } from '../../client/worker/steps.ts';
import { checkOutcomes } from '../../client/worker/suspend.ts';
import type { Query } from '../database/types.ts';
import { transactionalStatement } from './transactional_statement.ts';

/** If the lease is lost, a statement casts this text to a number: the error undoes its effect. */
export const leaseLostText = 'this task is no longer ours';

function savingStatement(statement: string, at: number): string {
  const { text, returns } = transactionalStatement('step.with', statement, at);
  const rows = "(select coalesce(jsonb_agg(to_jsonb(e)), '[]') from effect e)";
  // The line break ends a comment at the end of the handler's statement.
  return `with effect as ${returns ? 'materialized ' : ''}(${text}
  ), saved as materialized (
    select s.* from tock.save_steps(p_lease => $${at + 1}::uuid, p_steps => jsonb_build_array(
      $${at + 2}::jsonb || jsonb_build_object('result', ${returns ? rows : "'null'::jsonb"}))) s
  )
  select case when bool_or(s.state <> 'done') then ('${leaseLostText}' || count(*))::integer end as lost,
    json_agg(s) -> 0 as outcome
  from saved s`;
}

/** `step.with` of a consumer's handler: one statement that also saves the step, so both take effect or neither. */
export function createStepWith(query: Query, leased: LeasedTask, { withEffect }: RunSteps) {
  return <T>(
    name: string,
    statement: string,
    values: unknown[] = [],
    options?: EffectOptions,
  ): Promise<T> =>
    withEffect(
      name,
      async (key) => {
        const step = { id: leased.task.id, name: key, version: leased.version };
        const text = savingStatement(statement, values.length);
        try {
          const [row] = await query(text, [...values, leased.lease, JSON.stringify(step)]);
          const outcome = row?.outcome as StepOutcome;
          checkOutcomes([outcome], leased.abort);
          return outcome;
        } catch (error) {
          if (!(error as Error).message.includes(leaseLostText)) throw error;
          throw new LeaseLost(409, { detail: 'The lease of this task has ended.' });
        }
      },
      options,
    );
}
