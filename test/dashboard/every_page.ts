import type pg from 'pg';
import { save, saveAll } from '../sql/features/steps/steps.ts';
import { claim, complete, enqueue, numberedTasks, type Run } from '../sql/verbs.ts';
import { addSampleData } from './sample_data.ts';

const oneRun = async (client: pg.Client, queue: string) =>
  (await claim(client, queue, { worker: 'stepper' })) as [Run];

/** Fills every page of the dashboard. Returns their addresses. */
export async function everyPage(client: pg.Client): Promise<string[]> {
  await addSampleData(client);
  const [waiting = ''] = await enqueue(client, 'orders', [{ payload: { order: 17 } }]);
  const [first] = await oneRun(client, 'orders');
  await save(first, { name: 'charge', result: { receipt: 7 } }, client);
  await save(first, { name: 'bill', error: { name: 'SMTPError', message: 'try later' } }, client);
  const wait = { id: waiting, name: 'approval', event: 'orders/17/approved' };
  await saveAll(first.lease, [wait], client);
  const [ended = ''] = await enqueue(client, 'returns', [{ payload: { order: 16 } }]);
  const [second] = await oneRun(client, 'returns');
  await save(second, { name: 'refund', result: 7 }, client);
  await complete(client, second.lease);
  const [parent, , callback] = await enqueue(client, 'albums', [
    ...numberedTasks(2),
    { depends_on: ['*'] },
  ]);
  await client.query(
    `select tock.start_bulk_change('newsletters', 'cancel', '{"state": "waiting"}')`,
  );
  await client.query('select tock.promote(), tock.collect_metrics()');
  const { rows } = await client.query("select newest_id from tock.dead_groups('imports', 1, 10)");
  const tasks = [rows[0].newest_id, waiting, ended, parent, callback].map((id) => `tasks/${id}`);
  return [
    '',
    'queues/emails',
    'queues/emails?state=running',
    'queues/payments',
    'queues/albums?state=waiting',
    'queues/imports?state=dead',
    'queues/there-is-none',
    'tasks',
    ...tasks,
    'groups',
    'workers',
    'workers?worker=mailer-1',
    'schedules',
    'schedules/heartbeat',
    'concurrency_keys?queue=payments',
    'pools',
    'pools/drivers',
    'bulk_changes',
    'system',
    'keys',
    'audit_log',
    'no-such-page',
  ];
}
