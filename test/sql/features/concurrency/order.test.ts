import { expect, test } from 'vitest';
import { pace } from '../../../sleep.ts';
import { client, db, oneDatabase } from '../../test_database.ts';
import { claim, complete, enqueue, leaseOf, type Run, rows, until, value } from '../../verbs.ts';
import { gated, payloads, promote, take } from './concurrency_keys.ts';

// Tasks of one gate start in the order in which they were enqueued, whoever promotes them.
oneDatabase();

/** The payloads of a queue's tasks as they start, one after the other. */
async function started(queue: string, count: number): Promise<unknown[]> {
  const seen: unknown[] = [];
  await until(`${count} tasks of ${queue} started`, async () => {
    const runs: Run[] = await take(client, queue);
    seen.push(...payloads(runs));
    if (runs.length > 0) await complete(client, leaseOf(runs));
    return seen.length >= count;
  });
  return seen;
}

for (const end of ['rollback', 'commit']) {
  test(`nobody comes to a gate before one that an open promotion has, which ends with ${end}`, async () => {
    const first = await db.connect();
    const queue = `open-${end}`;
    await enqueue(client, queue, gated('g', 'A'));
    await first.query('begin');
    expect(await promote(first)).toBe(1);
    await enqueue(client, queue, [...gated('g', 'B'), ...gated('g', 'C')]);
    expect(await take(client, queue)).toEqual([]);
    await first.query(end);
    expect(await started(queue, 3)).toEqual(['A', 'B', 'C']);
  });
}

test('an open promotion at one gate holds up no others, however many stand behind it', async () => {
  const first = await db.connect();
  await enqueue(client, 'held', gated('g', 'first'));
  await first.query('begin');
  expect(await promote(first)).toBe(1);
  await enqueue(client, 'held', gated('g', 0, 1200));
  await enqueue(client, 'held', gated('other', 'beside'));
  await enqueue(client, 'plain', [{ payload: 'late', delay_seconds: 0.01 }]);
  await until('the plain task starts', async () => (await take(client, 'plain')).length === 1);
  await first.query('commit');
  expect(payloads(await take(client, 'held'))).toEqual(expect.arrayContaining(['first', 'beside']));
});

test('of eight who promote and claim at once, all keep to the order of one enqueuer', async () => {
  const count = 300;
  let left = count;
  const seen: number[] = [];
  const enqueuer = async () => {
    const on = await db.connect();
    for (let n = 0; n < count; n++) await enqueue(on, 'load', gated('g', n));
  };
  const worker = async () => {
    const on = await db.connect();
    while (left > 0) {
      await value(on, 'select tock.promote()');
      const runs = await claim(on, 'load', { limit: 3 });
      seen.push(...(payloads(runs) as number[]));
      left -= runs.length;
      if (runs.length > 0) await complete(on, leaseOf(runs));
      else await pace(1);
    }
  };
  await Promise.all([enqueuer(), ...Array.from({ length: 7 }, worker)]);
  const order = await rows<{ payload: number }>(
    client,
    `select payload::integer from tock.runs r join tock.streams s on s.number = r.stream
     where s.queue = 'load' order by r.position`,
  );
  expect(order.map((run) => run.payload)).toEqual(Array.from({ length: count }, (_, n) => n));
  expect(seen.length).toBe(count);
});
