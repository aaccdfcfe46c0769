import { beforeEach } from 'vitest';
import { client, databasePerTest } from '../../test_database.ts';
import { rows } from '../../verbs.ts';
import { expectFindings, type Finding } from '../findings.ts';

/** Each test has a database with the queues q and other. */
export function queuesPerTest(): void {
  databasePerTest();
  beforeEach(async () => {
    for (const queue of ['q', 'other'])
      await client.query("select tock.put_queue($1, '{}')", [queue]);
  });
}

/** The reasons why a queue is late, by default after a tick. */
export async function why(queue = 'q', tick = true): Promise<Finding[]> {
  if (tick) await client.query('select tock.tick()');
  return rows(client, 'select * from tock.why($1)', [queue]);
}

export const expectWhy = async (...patterns: (RegExp | string)[]) =>
  expectFindings(await why(), ...patterns);

/** The reasons without a tick. No tick has come since the template was made, so maintenance jobs may be late. */
export const whyWithoutTick = async () =>
  (await why('q', false)).filter(({ finding }) => finding !== 'maintenance jobs are late');

/** Moves the creation of all runs to this long ago. */
export const old = (interval: string) =>
  client.query('update tock.runs set created_at = now() - $1::interval', [interval]);

/** Moves the time at which waiting tasks are due to this long ago. */
export const overdue = (interval: string) =>
  client.query('update tock.waiting set due_at = now() - $1::interval', [interval]);
