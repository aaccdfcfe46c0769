import { expect, test } from 'vitest';
import { client, databasePerTest } from '../../test_database.ts';
import { enqueue, makeDue, task, value } from '../../verbs.ts';
import { begin } from '../sessions.ts';

databasePerTest();

const tick = () => value<Date | null>(client, 'select tock.tick()');
const stateOf = async (id: string) => (await task(client, id))?.state;

/** Ticks until a task is ready. The sweep's period is an hour, so an early sweep must have promoted the task. */
async function ticksTo(id: string): Promise<void> {
  await client.query(
    "update tock.maintenance_jobs set every_seconds = 3600 where name = 'promote'",
  );
  await expect.poll(() => tick().then(() => stateOf(id)), { interval: 200 }).toBe('ready');
}

/** True if next_wake_at() has been reached. */
const wakes = () =>
  value<boolean>(client, 'select coalesce(tock.next_wake_at() <= clock_timestamp(), false)');

test('a delayed task that is committed after a later one was promoted wakes at once', async () => {
  await tick();
  const other = await begin();
  const [late = ''] = await enqueue(other, 'q', [{ delay_seconds: 1000 }]);
  await other.query("update tock.waiting set due_at = clock_timestamp() - interval '1 ms'");
  await enqueue(client, 'q', [{ delay_seconds: 1000 }]);
  await client.query('update tock.waiting set due_at = clock_timestamp()');
  expect(await value(client, 'select tock.promote()')).toBe(1);
  expect(await wakes()).toBe(false);
  await other.query('commit');
  expect(await wakes()).toBe(true);
  await client.query("select tock.run_maintenance('promote')");
  expect(await stateOf(late)).toBe('ready');
  expect(await wakes()).toBe(false);
});

/** Makes the task due a minute ago, as in a transaction that has been open for longer. */
const long = "update tock.waiting set due_at = now() - interval '1 minute'";

test.each([
  ['committed', 'commit'],
  ['prepared and then committed', "prepare transaction 'late'"],
])(
  'a task that is %s long after a sweep wakes at once, and the next tick sweeps',
  async (_, end) => {
    const other = await begin();
    const [late = ''] = await enqueue(other, 'q', [{ delay_seconds: 1 }]);
    await other.query(long);
    if (end !== 'commit') await other.query(end);
    expect(await tick()).toBeNull();
    expect(await tick()).toBeNull();
    if (end === 'commit') {
      // Makes the last sweep record this transaction as one that was open.
      await client.query(
        "update tock.maintenance_jobs set writers = tock.writers_of('tock.waiting') where name = 'promote'",
      );
      await other.query('commit');
    } else await client.query("commit prepared 'late'");
    expect(await wakes()).toBe(true);
    await ticksTo(late);
    expect(await wakes()).toBe(false);
  },
);

test('a due task whose promotion was rolled back wakes at once', async () => {
  const [id = ''] = await enqueue(client, 'q', [{ delay_seconds: 1 }]);
  await client.query(long);
  const other = await begin();
  await other.query('select tock.promote()');
  await tick();
  await other.query('rollback');
  expect(await wakes()).toBe(true);
  await ticksTo(id);
});

test('after a sweep that was cut short it is time for another', async () => {
  await client.query("select tock.put_queue('q')");
  await client.query(
    `insert into tock.waiting (position, due_at, queue, priority, lane, bytes)
     select nextval('tock.positions'), now() - interval '1 minute', 'q', 5, 0, 0 from generate_series(1, 10050)`,
  );
  await client.query("select tock.run_maintenance('promote', 0)");
  expect(await wakes()).toBe(true);
  await client.query("select tock.run_maintenance('promote', 600)");
  expect(await wakes()).toBe(false);
});

test('a task at a concurrency key that was due long ago wakes at once', async () => {
  await tick();
  await enqueue(client, 'q', [{ concurrency_key: 'g', run_at: '2026-01-01T00:00:00Z' }]);
  expect(await wakes()).toBe(true);
});

test('a short transaction that writes a delayed task causes no wake-up before the task is due', async () => {
  const other = await begin();
  await enqueue(other, 'q', [{ delay_seconds: 1000 }]);
  await tick();
  await other.query('commit');
  expect(await wakes()).toBe(false);
  await makeDue(client, 'q');
  expect(await wakes()).toBe(true);
});
