import { expect, test } from 'vitest';
import { startNextSegment } from '../../kernel/segment/segments.ts';
import { begin } from '../../kernel/sessions.ts';
import { client, databasePerFile } from '../../test_database.ts';
import {
  claim,
  complete,
  enqueue,
  expireTask,
  leaseOf,
  promote,
  value,
  waitForState,
} from '../../verbs.ts';
import { cancel, newQueue, stateOf } from './spawns.ts';

databasePerFile();

const take = (queue: string) => claim(client, queue);

test('a child that was enqueued in a long transaction sees its parent end', async () => {
  const queue = newQueue();
  const [parent = ''] = await enqueue(client, queue, [{}]);
  const other = await begin();
  const [child = ''] = await enqueue(other, queue, [{ depends_on: [parent] }]);
  await complete(client, leaseOf(await take(queue)));
  await other.query('commit');
  await waitForState(client, child, 'ready', false);
});

test('a parent that is completed in a long transaction blocks no other task', async () => {
  const queue = newQueue();
  const [a = '', b = ''] = await enqueue(client, queue, [{}, {}]);
  const [child = ''] = await enqueue(client, queue, [{ depends_on: [a, b] }]);
  const first = leaseOf(await take(queue));
  const second = leaseOf(await take(queue));
  const other = await begin();
  await complete(other, first);
  await complete(client, second);
  expect(await stateOf(child)).toBe('waiting');
  await other.query('commit');
  await waitForState(client, child, 'ready');
});

test('a parent in a closed segment ends and releases its children', async () => {
  const queue = newQueue();
  const [parent = ''] = await enqueue(client, queue, [{}]);
  const [child = ''] = await enqueue(client, queue, [{ depends_on: [parent] }]);
  const lease = leaseOf(await take(queue));
  await startNextSegment(client);
  await complete(client, lease);
  expect(await stateOf(child)).toBe('ready');
});

test('a child waits for a cancelled parent that is being claimed', async () => {
  const queue = newQueue();
  const [parent = ''] = await enqueue(client, queue, [{}]);
  const [child = ''] = await enqueue(client, queue, [{ depends_on: [parent] }]);
  const other = await begin();
  const lease = leaseOf(await claim(other, queue));
  await cancel(parent);
  const due = 'select due_at from tock.waiting where position = $1::bigint >> 20';
  const dueAt = () => value<Date>(client, due, [child]);
  const isDue = async () => (await dueAt()) <= (await value<Date>(client, 'select now()'));
  // Promotion checks the child several times, and finds the parent unfinished each time.
  for (let n = 0; n < 3; n++) {
    await expect.poll(isDue).toBe(true);
    const before = await dueAt();
    await promote(client);
    expect((await dueAt()).getTime()).toBeGreaterThan(before.getTime());
  }
  await other.query('commit');
  await complete(client, lease);
  expect(await stateOf(child)).toBe('ready');
});

test('a child is cancelled soon, however long it has waited, when its parent has expired and is passed over', async () => {
  const queue = newQueue();
  const [parent = ''] = await enqueue(client, queue, [{ expires_in_seconds: 1000 }]);
  const [child = ''] = await enqueue(client, newQueue(), [{ depends_on: [parent] }]);
  expect(await looksIn(child, '1 day')).toBeGreaterThan(600);
  await expireTask(client, parent);
  expect(await stateOf(parent)).toBe('expired');
  expect(await take(queue)).toEqual([]);
  await waitForState(client, child, 'cancelled');
});

/** Makes the child due, as one that has waited for `watched`. Returns the seconds from its check to the next one. */
async function looksIn(child: string, watched: string): Promise<number> {
  const row = 'where position = $1::bigint >> 20';
  await client.query(
    'update tock.dependency_waits set waiting_since = now() - $2::interval where child = $1::bigint >> 20',
    [child, watched],
  );
  await client.query(`update tock.waiting set due_at = now() ${row}`, [child]);
  await promote(client);
  const left = 'select extract(epoch from due_at - now())::float8 from tock.waiting';
  return value(client, `${left} ${row}`, [child]);
}

test.each([
  ['ready', {}],
  ['waiting', { delay_seconds: 100_000 }],
])(
  'a child checks its %s parent again when that expires, however long it has waited',
  async (_, more) => {
    for (const [watched, seconds] of [
      ['20 seconds', 5],
      ['40 minutes', 2300],
      ['1 day', 100],
      ['1 day', 3000],
    ] as const) {
      const expires_at = new Date(Date.now() + seconds * 1000).toISOString();
      const [parent] = await enqueue(client, newQueue(), [{ ...more, expires_at }]);
      const [child = ''] = await enqueue(client, newQueue(), [{ depends_on: [parent] }]);
      const inSeconds = await looksIn(child, watched);
      expect(inSeconds, `${watched}, ${seconds} s`).toBeLessThan(seconds + 1);
      expect(inSeconds, `${watched}, ${seconds} s`).toBeGreaterThan(seconds - 5);
    }
  },
);

test('a child of a parent that has started in time does not check its expiry', async () => {
  const queue = newQueue();
  const [parent = ''] = await enqueue(client, queue, [{ expires_in_seconds: 300 }]);
  const [child = ''] = await enqueue(client, newQueue(), [{ depends_on: [parent] }]);
  await take(queue);
  expect(await looksIn(child, '20 minutes')).toBeGreaterThan(1000);
  await expireTask(client, parent);
  expect(await looksIn(child, '20 minutes')).toBeGreaterThan(1000);
});

test('a child checks its parent soon after the parent becomes ready, because from then on the parent may expire', async () => {
  const queue = newQueue();
  await client.query('select tock.put_queue($1, $2)', [queue, { max_wait_seconds: 300 }]);
  const first = newQueue();
  const [root = ''] = await enqueue(client, first, [{}]);
  const [parent = ''] = await enqueue(client, queue, [{ depends_on: [root] }]);
  const [child = ''] = await enqueue(client, newQueue(), [{ depends_on: [parent] }]);
  expect(await looksIn(child, '20 minutes')).toBeGreaterThan(1000);
  await complete(client, leaseOf(await take(first)));
  expect(await stateOf(parent)).toBe('ready');
  const due =
    "select due_at < clock_timestamp() + interval '1 s' from tock.waiting where position = $1::bigint >> 20";
  expect(await value(client, due, [child])).toBe(true);
  expect(await looksIn(child, '20 minutes')).toBeLessThan(301);
});
