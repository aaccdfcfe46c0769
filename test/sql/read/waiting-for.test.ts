import { expect, test } from 'vitest';
import { begun, next, save, saveAll, signal } from '../features/steps/steps.ts';
import { cancel, change } from '../kernel/change/changes.ts';
import { client, databasePerFile } from '../test_database.ts';
import {
  claim,
  complete,
  enqueue,
  fail,
  leaseOf,
  numberedTasks,
  promote,
  refusal,
  rows,
} from '../verbs.ts';
import { idsOf, search, searchPart } from './search.ts';

databasePerFile();

const reasons = ['time', 'concurrency_key', 'dependency', 'child', 'event'] as const;
const none = Object.fromEntries(reasons.map((reason) => [reason, 0]));

/** The counts by reason, each the same as the list of that reason, and their sum the same as `waiting`. */
async function counts(queue: string): Promise<Record<string, number>> {
  type Stats = { waiting: number; waiting_for: Record<string, number> };
  const [{ waiting, waiting_for }] = (await rows<Stats>(
    client,
    'select waiting::int, waiting_for from tock.queue_stats($1)',
    [queue],
  )) as [Stats];
  let sum = 0;
  for (const reason of reasons) {
    const listed = await search(client, { queue, waiting_for: reason }, 2);
    expect([reason, listed.length]).toEqual([reason, waiting_for[reason]]);
    expect(listed.filter((task) => task.waiting_for !== reason)).toEqual([]);
    expect(new Set(listed.map(({ state }) => state)).size).toBeLessThan(2);
    sum += listed.length;
  }
  expect(sum).toBe(waiting);
  return waiting_for;
}

test('a waiting task is counted and listed by what it waits for', async () => {
  const [parent] = (await enqueue(client, 'w', [{ max_attempts: 2 }])) as [string];
  const delayed = await enqueue(client, 'w', numberedTasks(3, 0, { delay_seconds: 900 }));
  const keyed = await enqueue(client, 'w', numberedTasks(4, 0, { concurrency_key: 'x' }));
  const later = { concurrency_key: 'x', delay_seconds: 900 };
  delayed.push(...(await enqueue(client, 'w', [later])));
  const children = await enqueue(client, 'w', [
    { depends_on: [parent] },
    { depends_on: [parent], concurrency_key: 'x' },
  ]);
  await enqueue(client, 'else', numberedTasks(2, 0, { delay_seconds: 900 }));
  await promote(client);
  expect(await counts('w')).toEqual({ ...none, time: 4, concurrency_key: 3, dependency: 2 });
  const found = async (filter: object) => idsOf(await search(client, filter)).toSorted();
  const only = { queue: 'w' };
  expect(await found({ ...only, waiting_for: 'time' })).toEqual(delayed.toSorted());
  expect(await found({ ...only, waiting_for: 'concurrency_key' })).toEqual(
    keyed.slice(1).toSorted(),
  );
  expect(await found({ ...only, waiting_for: 'dependency' })).toEqual(children.toSorted());
  expect(await found({ waiting_for: 'time' })).toHaveLength(6);
  const at = { ...only, concurrency_key: 'x' };
  expect(await found({ ...at, waiting_for: 'concurrency_key' })).toHaveLength(3);
  expect(await found({ ...at, waiting_for: 'time' })).toEqual([]);
  // The first claim leases the holder of the key, the second the parent. The parent fails and waits for its backoff; a waiter is cancelled.
  const claims = [await claim(client, 'w'), await claim(client, 'w')].flat();
  const runs = claims.filter(({ id }) => id === parent);
  await fail(client, leaseOf(runs), [{ id: parent, error: 'no', retry_in_seconds: 900 }]);
  await cancel(client, [keyed[3] as string]);
  expect(await counts('w')).toEqual({ ...none, time: 5, concurrency_key: 2, dependency: 2 });
  expect(await found({ ...only, waiting_for: 'time' })).toContain(parent);
});

test('a task that waits in its steps is counted once: for a child, an event or a time', async () => {
  const event = { name: 'signed', event: 'signed' };
  const child = { name: 'child', invoke: { queue: 'children' } };
  const nap = { name: 'nap', sleep_seconds: 900 };
  const suspend = async (...steps: object[]) => {
    const run = await begun({}, 'steps');
    await saveAll(
      run.lease,
      steps.map((step) => ({ id: run.id, ...step })),
    );
    return run.id;
  };
  await suspend(nap);
  await suspend({ name: 'mail', error: { message: 'no' }, retry_in_seconds: 900 });
  const waiters = [await suspend(event), await suspend(nap, { ...event, timeout_seconds: 900 })];
  const invokers = [await suspend(event, child, nap), await suspend(child)];
  const [other] = await enqueue(client, 'steps', [{ depends_on: [invokers[1]] }]);
  expect(await counts('steps')).toEqual({ ...none, time: 2, event: 2, child: 2, dependency: 1 });
  const found = async (waiting_for: string) =>
    idsOf(await search(client, { waiting_for, queue: 'steps' })).toSorted();
  expect(await found('event')).toEqual(waiters.toSorted());
  expect(await found('child')).toEqual(invokers.toSorted());
  expect(await found('dependency')).toEqual([other]);
  expect(idsOf(await search(client, { waiting_for: 'child' }))).toHaveLength(2);
  // Its child ends, but the task is postponed.
  await change(client, [invokers[1] as string], { delay_seconds: 900 });
  for (const run of await claim(client, 'children', { limit: 2 })) {
    await complete(client, run.lease, [{ id: run.id }]);
  }
  await client.query("update tock.waiting set due_at = now() where waits_for = 'child'");
  await promote(client);
  expect(await counts('steps')).toEqual({ ...none, time: 3, event: 2, dependency: 1 });
  expect(await signal('signed')).toMatchObject({ woken: 2 });
  expect(await counts('steps')).toEqual({ ...none, time: 3, dependency: 1 });
});

test('a task whose event has come waits for its concurrency key, and no longer for the event', async () => {
  const start = async () => {
    await enqueue(client, 'keyed', [{ concurrency_key: 'one' }]);
    await promote(client);
    return next('keyed');
  };
  const run = await start();
  await save(run, { name: 'signed', event: 'keyed' });
  await start();
  expect(await counts('keyed')).toEqual({ ...none, event: 1 });
  await signal('keyed');
  expect(await counts('keyed')).toEqual({ ...none, concurrency_key: 1 });
  const filter = { queue: 'keyed', concurrency_key: 'one' };
  expect(idsOf(await search(client, { ...filter, waiting_for: 'concurrency_key' }))).toEqual([
    run.id,
  ]);
  expect(await search(client, { ...filter, waiting_for: 'event' })).toEqual([]);
});

test('a reason is refused by its name if it is unknown or the state is another', async () => {
  for (const waiting_for of ['rain', '', 'time', 7]) {
    const refused = searchPart(client, {
      waiting_for,
      ...(waiting_for === 'time' && { state: 'ready' }),
    });
    expect((await refusal(refused)).detail).toContain('waiting_for');
  }
  expect(await search(client, { waiting_for: 'time', worker: 'w' })).toEqual([]);
  expect(await search(client, { waiting_for: 'time', error: 'no' })).toEqual([]);
});
