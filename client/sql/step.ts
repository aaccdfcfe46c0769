import type { StepOutcome } from '../types.ts';
import type { LeasedTask } from '../worker/leased_tasks.ts';
import type { EffectOptions } from '../worker/step_types.ts';
import type { RunSteps } from '../worker/steps.ts';
import { checkOutcomes } from '../worker/suspend.ts';
import { commit, type SqlClient, transactionEnded } from './query.ts';
import { leaseEnded } from './source.ts';
import * as statements from './statements.ts';

/**
 * `step.sql` of a handler: its statements and the saved step are one transaction, on the connection of the handler. The
 * transaction of the handler is empty until then, and a new one begins after it. Steps of one handler come one by one.
 */
export function createSqlStep(client: SqlClient, leased: LeasedTask, { withEffect }: RunSteps) {
  let last: Promise<unknown> = Promise.resolve();

  /** Throws if the handler has ended its transaction. True if it has written in it. */
  async function hasWritten(): Promise<boolean> {
    const [row] = (await client.query(statements.openTransaction, [leased.task.run_id])).rows;
    if (!row.within) throw transactionEnded();
    return row.has_written;
  }

  async function inTransaction(run: () => Promise<StepOutcome>): Promise<StepOutcome> {
    if (await hasWritten())
      throw new Error(
        'step.sql: the handler has written with its client before, outside of a step; do it in a step, or after the last one',
      );
    const begin = statements.beginFor(leased.task.run_id);
    let outcome: StepOutcome;
    try {
      outcome = await run();
      await commit(client);
    } catch (error) {
      // If the connection is broken, the completion will find no transaction.
      await client.query(`rollback; ${begin}`).catch(() => {});
      throw error;
    }
    await client.query(begin);
    return outcome;
  }

  async function save(name: string, result: unknown): Promise<StepOutcome> {
    await hasWritten();
    const json = JSON.stringify(result) === undefined ? null : result;
    const steps = [{ id: leased.task.id, name, version: leased.version, result: json }];
    const { rows } = await client.query(statements.saveSteps, [
      leased.lease,
      JSON.stringify(steps),
    ]);
    const [outcome] = (rows[0]?.steps ?? []) as StepOutcome[];
    // Otherwise this run has ended, or another one has saved the step: the statements must not be committed.
    if (outcome?.state !== 'done') throw leaseEnded();
    checkOutcomes([outcome], leased.abort);
    return outcome;
  }

  return <T>(
    name: string,
    run: (client: SqlClient) => T | Promise<T>,
    options?: EffectOptions,
  ): Promise<T> =>
    withEffect(
      name,
      (key) => {
        const step = () => inTransaction(async () => save(key, await run(client)));
        const ended = last.then(step, step);
        last = ended;
        return ended;
      },
      options,
    );
}
