import { expect, test } from 'vitest';
import { sleep } from '../../../sleep.ts';
import { begin } from '../../kernel/sessions.ts';
import { client, databasePerFile, db } from '../../test_database.ts';
import {
  claim,
  complete,
  enqueue,
  leaseOf,
  type Run,
  rows,
  value,
  waitUntil,
} from '../../verbs.ts';
import { payloadsOf, promoteAndClaim, promoteDue, tasksWithKey } from './concurrency_keys.ts';

// Tasks of one concurrency key start in the order of their enqueue, whichever session promotes them.
databasePerFile();

/** The payloads of a queue's tasks, in the order in which they start. */
async function started(queue: string, count: number): Promise<unknown[]> {
  const seen: unknown[] = [];
  await waitUntil(`${count} tasks of ${queue} started`, async () => {
    const runs: Run[] = await promoteAndClaim(client, queue);
    seen.push(...payloadsOf(runs));
    if (runs.length > 0) await complete(client, leaseOf(runs));
    return seen.length >= count;
  });
  return seen;
}

for (const end of ['rollback', 'commit']) {
  test(`no task overtakes another at a concurrency key during an open promotion that ends with ${end}`, async () => {
    const queue = `open-${end}`;
    await enqueue(client, queue, tasksWithKey('g', 'A'));
    const first = await begin();
    expect(await promoteDue(first)).toBe(1);
    await enqueue(client, queue, [...tasksWithKey('g', 'B'), ...tasksWithKey('g', 'C')]);
    expect(await promoteAndClaim(client, queue)).toEqual([]);
    await first.query(end);
    expect(await started(queue, 3)).toEqual(['A', 'B', 'C']);
  });
}

test('an open promotion at one concurrency key blocks no others, however many tasks wait behind it', async () => {
  const first = await db.connect();
  await enqueue(client, 'held', tasksWithKey('g', 'first'));
  await first.query('begin');
  expect(await promoteDue(first)).toBe(1);
  await enqueue(client, 'held', tasksWithKey('g', 0, 1200));
  await enqueue(client, 'held', tasksWithKey('other', 'beside'));
  await enqueue(client, 'plain', [{ payload: 'late', delay_seconds: 0.01 }]);
  await waitUntil(
    'the plain task starts',
    async () => (await promoteAndClaim(client, 'plain')).length === 1,
  );
  await first.query('commit');
  expect(payloadsOf(await promoteAndClaim(client, 'held'))).toEqual(
    expect.arrayContaining(['first', 'beside']),
  );
});

test('eight sessions that promote and claim concurrently keep the order of one enqueuer', async () => {
  const count = 300;
  let left = count;
  const seen: number[] = [];
  const enqueuer = async () => {
    const on = await db.connect();
    for (let n = 0; n < count; n++) await enqueue(on, 'load', tasksWithKey('g', n));
  };
  const worker = async () => {
    const on = await db.connect();
    while (left > 0) {
      await value(on, 'select tock.promote()');
      const runs = await claim(on, 'load', { limit: 3 });
      seen.push(...(payloadsOf(runs) as number[]));
      left -= runs.length;
      if (runs.length > 0) await complete(on, leaseOf(runs));
      else await sleep(1);
    }
  };
  await Promise.all([enqueuer(), ...Array.from({ length: 7 }, worker)]);
  const order = await rows<{ payload: number }>(
    client,
    `select payload::text::integer as payload from tock.runs r join tock.streams s on s.number = r.stream
     where s.queue = 'load' order by r.position`,
  );
  expect(order.map((run) => run.payload)).toEqual(Array.from({ length: count }, (_, n) => n));
  expect(seen.length).toBe(count);
});
