import { expect, test } from 'vitest';
import { startNextSegment } from '../kernel/segment/segments.ts';
import { client, databasePerFile } from '../test_database.ts';
import { claim, complete, enqueue, leaseOf, numberedTasks, refusal, rows } from '../verbs.ts';

databasePerFile();

const workers = (queue: string | null = null, seconds = 3600) =>
  rows<{ worker: string; queues: string[]; leases: number; open: number; average: number }>(
    client,
    `select worker, queues, leases, open_leases as open, average_open as average
     from tock.workers(p_queue => $1, p_seconds => $2)`,
    [queue, seconds],
  );

/** As if the worker had claimed earlier, and ended what it has ended half as long ago. */
const claimedAgo = (worker: string, seconds: number) =>
  client.query(
    `update tock.leases set claimed_at = now() - $2 * interval '1 second',
       closed_at = case when closed_at is not null then now() - $2 / 2 * interval '1 second' end
     where worker = $1`,
    [worker, seconds],
  );

test('workers of the period are listed, idle ones too, also from the segment before', async () => {
  await enqueue(client, 'q', numberedTasks(30));
  await enqueue(client, 'other', numberedTasks(5));
  await complete(client, leaseOf(await claim(client, 'q', { limit: 9, worker: 'idle' })));
  await complete(client, leaseOf(await claim(client, 'q', { worker: 'old' })));
  await claim(client, 'q', { worker: 'busy' });
  await claim(client, 'other', { worker: 'busy' });
  await claim(client, 'other');
  await claimedAgo('idle', 600);
  await claimedAgo('old', 7200);
  await claimedAgo('busy', 100);
  await startNextSegment(client);
  const busy = { worker: 'busy', queues: ['other', 'q'], leases: 2, open: 2, average: 2 };
  const idle = { worker: 'idle', queues: ['q'], leases: 1, open: 0, average: 0.5 };
  expect(await workers()).toEqual(
    [busy, idle].map((w) => ({ ...w, average: expect.closeTo(w.average, 1) })),
  );
  expect(await workers('other')).toMatchObject([{ worker: 'busy', queues: ['other'], open: 1 }]);
  expect((await workers(null, 7300)).map(({ worker }) => worker)).toEqual(['busy', 'idle', 'old']);
  expect(await workers('none')).toEqual([]);
});

test('bad arguments are refused by name', async () => {
  for (const [args, field] of [
    ["p_queue => ''", 'queue'],
    ['p_seconds => 0', 'seconds'],
    ['p_seconds => 86401', 'seconds'],
    ['p_limit => 0', 'limit'],
  ]) {
    expect(await refusal(client.query(`select * from tock.workers(${args})`))).toMatchObject({
      code: 'TK422',
      detail: expect.stringContaining(field as string),
    });
  }
});
