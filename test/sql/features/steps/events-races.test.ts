import type pg from 'pg';
import { describe, expect, test } from 'vitest';
import { cancel } from '../../kernel/change/changes.ts';
import { begin, invariantsAfterEach } from '../../kernel/sessions.ts';
import { client, databasePerFile, db } from '../../test_database.ts';
import { claim, complete, pidOf, promote, type Run, task, waitUntilBlocked } from '../../verbs.ts';
import { begun, save, saveAll, signal, stepsOf } from './steps.ts';

databasePerFile();
invariantsAfterEach();

type Call<T> = (on: pg.Client) => Promise<T>;

/** Makes the second call while the first one's transaction is open, and ends that once the second waits or is done. */
async function crossing<A, B>(first: Call<A>, second: Call<B>, end: string): Promise<[A, B]> {
  const [holder, other] = [await begin(), await db.connect()];
  const [pid, answer] = [await pidOf(other), await first(holder)];
  const late = second(other);
  await waitUntilBlocked(await db.connect(), pid, late);
  await holder.query(end);
  return [answer, await late];
}

let count = 0;

/** A task that waits for an event, and the event. */
async function waiting(more: object = {}): Promise<[run: Run, event: string]> {
  const event = `e${++count}`;
  const run = await begun({}, event);
  expect(await save(run, { name: 'w', event, ...more })).toMatchObject({ state: 'waiting' });
  return [run, event];
}

/** The only run of the task that can be claimed, and what its wait then returns. */
async function continued({ id }: Run, event: string) {
  await client.query('select tock.promote(p_sweep => true)');
  const runs = await claim(client, event, { limit: 9 });
  expect(runs).toMatchObject([{ id }]);
  const { state, result } = await save(runs[0] as Run, { name: 'w', event });
  await complete(client, (runs[0] as Run).lease);
  return [state, result];
}

const both = ['commit', 'rollback'];

describe.each(both)('a signal that ends with %s', (end) => {
  test('and another signal of its event: the first that commits counts, and the task continues once', async () => {
    const [run, event] = await waiting();
    const [, second] = await crossing(
      (on) => signal(event, 1, on),
      (on) => signal(event, 2, on),
      end,
    );
    const isFirst = end === 'rollback';
    expect(second).toEqual({ accepted: isFirst, woken: isFirst ? 1 : 0 });
    expect(await continued(run, event)).toEqual(['done', isFirst ? 2 : 1]);
  });

  test('and a signal of another event for which the task waits too: both arrive, and the task continues once', async () => {
    const event = `e${++count}`;
    const run = await begun({}, event);
    await saveAll(run.lease, [
      { id: run.id, name: 'w', event },
      { id: run.id, name: 'other', event: `other ${event}` },
    ]);
    await crossing(
      (on) => signal(event, 1, on),
      (on) => signal(`other ${event}`, 2, on),
      end,
    );
    const [awake] = await claim(client, event, { limit: 9 });
    const saved = await saveAll((awake as Run).lease, [
      { id: run.id, name: 'other', event: `other ${event}` },
      { id: run.id, name: 'w', event },
    ]);
    expect(saved).toMatchObject([
      { state: 'done', result: 2 },
      end === 'commit' ? { state: 'done', result: 1 } : { state: 'waiting' },
    ]);
    await complete(client, (awake as Run).lease);
  });

  test('beside the promotion of a wait that has timed out: the task continues once, with the payload if there is one', async () => {
    const [run, event] = await waiting({ timeout_seconds: 0.001 });
    await crossing((on) => signal(event, 1, on), promote, end);
    const outcome = end === 'commit' ? ['done', 1] : ['timed_out', null];
    expect(await continued(run, event)).toEqual(outcome);
  });

  test('beside a cancel: the task is cancelled and does not continue', async () => {
    const [run, event] = await waiting();
    await crossing(
      (on) => signal(event, 1, on),
      (on) => cancel(on, [run.id]),
      end,
    );
    expect(await task(client, run.id)).toMatchObject({ state: 'cancelled' });
    expect(await claim(client, event)).toEqual([]);
    expect(await signal(event, 2)).toEqual({ accepted: end === 'rollback', woken: 0 });
  });
});

describe.each(both)('beside a signal, a transaction that ends with %s', (end) => {
  test('and has promoted a wait that timed out: the payload counts all the same', async () => {
    const [run, event] = await waiting({ timeout_seconds: 0.001 });
    const [, signalled] = await crossing(promote, (on) => signal(event, 1, on), end);
    expect(signalled).toMatchObject({ accepted: true });
    expect(await continued(run, event)).toEqual(['done', 1]);
  });

  test('and has cancelled the task: it continues only if the cancel is rolled back', async () => {
    const [run, event] = await waiting();
    const [, { woken }] = await crossing(
      (on) => cancel(on, [run.id]),
      (on) => signal(event, 1, on),
      end,
    );
    expect(woken).toBe(end === 'commit' ? 0 : 1);
    if (end === 'rollback') return expect(await continued(run, event)).toEqual(['done', 1]);
    expect(await task(client, run.id)).toMatchObject({ state: 'cancelled' });
    return expect(await claim(client, event)).toEqual([]);
  });
});

test('a signal that is rolled back leaves the wait as it was', async () => {
  const [run, event] = await waiting();
  const holder = await begin();
  expect(await signal(event, 1, holder)).toEqual({ accepted: true, woken: 1 });
  await holder.query('rollback');
  expect(await claim(client, event)).toEqual([]);
  expect(await stepsOf(run.id)).toEqual({ w: ['waiting', null] });
  expect(await signal(event, 2)).toEqual({ accepted: true, woken: 1 });
  expect(await continued(run, event)).toEqual(['done', 2]);
});

test('twenty sessions that signal and wait at once lose no wait', async () => {
  const sessions = await Promise.all(Array.from({ length: 20 }, () => db.connect()));
  const event = `e${++count}`;
  const runs: Run[] = [];
  for (let n = 0; n < 100; n++) runs.push(await begun({}, event));
  const events = runs.map((_, n) => `${event}/${n >> 1}`);
  const calls = runs.flatMap((run, n) => [
    (on: pg.Client) => save(run, { name: 'w', event: events[n] }, on),
    (on: pg.Client) => signal(events[n] as string, n, on),
  ]);
  await Promise.all(
    sessions.map(async (on) => {
      for (let call = calls.shift(); call; call = calls.shift()) await call(on);
    }),
  );
  for (const [n, run] of runs.entries()) {
    const [[state, payload] = []] = Object.values(await stepsOf(run.id));
    expect([state, events[n]]).toEqual(['done', events[Number(payload)]]);
  }
});
