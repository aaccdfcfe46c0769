import { expect, test } from 'vitest';
import { cancel } from '../../kernel/change/changes.ts';
import { begin, invariantsAfterEach, overlapping } from '../../kernel/sessions.ts';
import { client, databasePerTest } from '../../test_database.ts';
import { claim, complete, enqueue, leaseOf, release, task, value } from '../../verbs.ts';
import { begun, claimedSteps, next, save, saveAll, signal, stepsOf, wake } from './steps.ts';

databasePerTest();
invariantsAfterEach();

test('a task that is woken early sleeps on until the time that it had first', async () => {
  const run = await begun();
  const { due_at } = await save(run, { name: 'nap', sleep_seconds: 3600 });
  await client.query('select tock.change($1, $2)', [[run.id], { delay_seconds: 0 }]);
  expect(await save(await next(), { name: 'nap', sleep_seconds: 7200 })).toMatchObject({
    state: 'waiting',
    due_at,
  });
});

test('several waits in one call end the run until the first is due', async () => {
  const run = await begun();
  const saved = await saveAll(run.lease, [
    { id: run.id, name: 'work', result: 1 },
    { id: run.id, name: 'long', sleep_seconds: 7200 },
    { id: run.id, name: 'short', sleep_seconds: 60 },
    { id: run.id, name: 'call', event: 'call' },
  ]);
  expect(saved.map(({ state }) => state)).toEqual(['done', 'waiting', 'waiting', 'waiting']);
  expect((await task(client, run.id))?.run_at).toEqual(saved[2]?.due_at);
  expect(await signal('call', 'hello')).toEqual({ accepted: true, woken: 1 });
  const awake = await next();
  expect(await stepsOf(run.id)).toEqual({
    work: ['done', 1],
    long: ['waiting', null],
    short: ['waiting', null],
    call: ['done', 'hello'],
  });
  await release(client, awake.lease);
});

test('the first payload of an event counts for those who wait before and after it', async () => {
  const before = await begun();
  expect(await save(before, { name: 'w', event: 'e' })).toMatchObject({ state: 'waiting' });
  expect(await signal('e', { n: 1 })).toEqual({ accepted: true, woken: 1 });
  expect(await signal('e', { n: 2 })).toEqual({ accepted: false, woken: 0 });
  const awake = await next();
  expect(await claimedSteps(awake)).toMatchObject([{ state: 'done', result: { n: 1 } }]);
  const after = await begun({}, 'other');
  expect(await save(after, { name: 'w', event: 'e' })).toMatchObject({
    state: 'done',
    result: { n: 1 },
  });
  await complete(client, awake.lease);
  await complete(client, after.lease);
});

test('a wait that times out stays so, even if the event comes then', async () => {
  const run = await begun();
  await save(run, { name: 'w', event: 'e', timeout_seconds: 60 });
  await wake();
  const awake = await next();
  expect(await save(awake, { name: 'w', event: 'e', timeout_seconds: 60 })).toMatchObject({
    state: 'timed_out',
    result: null,
  });
  expect(await signal('e', 1)).toEqual({ accepted: true, woken: 0 });
  expect(await save(awake, { name: 'w', event: 'e' })).toMatchObject({ state: 'timed_out' });
});

test('a wait sees a signal of an open transaction once that has ended', async () => {
  for (const end of ['commit', 'rollback'] as const) {
    const run = await begun();
    const [, saved] = await overlapping(
      (on) => signal(end, 1, on),
      (on) => save(run, { name: 'w', event: end }, on),
      end,
    );
    expect(saved.state).toBe(end === 'commit' ? 'done' : 'waiting');
    if (end === 'commit') {
      await complete(client, run.lease);
      continue;
    }
    expect(await signal(end, 2)).toEqual({ accepted: true, woken: 1 });
    expect(await stepsOf(run.id)).toEqual({ w: ['done', 2] });
  }
});

test('a signal wakes a task whose wait another transaction is saving', async () => {
  const run = await begun();
  const [, signalled] = await overlapping(
    (on) => save(run, { name: 'w', event: 'e' }, on),
    (on) => signal('e', 1, on),
  );
  expect(signalled).toEqual({ accepted: true, woken: 1 });
  expect((await next()).id).toBe(run.id);
});

test('a cancelled task is not woken', async () => {
  const run = await begun();
  await save(run, { name: 'w', event: 'e' });
  await cancel(client, [run.id]);
  expect(await signal('e', 1)).toEqual({ accepted: true, woken: 0 });
  expect(await claim(client, 'q')).toEqual([]);
  expect(await task(client, run.id)).toMatchObject({ state: 'cancelled' });
});

test('an event for which more tasks wait than one call wakes reaches all', async () => {
  const ids = await enqueue(
    client,
    'q',
    Array.from({ length: 1500 }, () => ({})),
  );
  const lease = leaseOf(await claim(client, 'q', { limit: 1500 }));
  for (const part of [ids.slice(0, 800), ids.slice(800)])
    await saveAll(
      lease,
      part.map((id) => ({ id, name: 'w', event: 'e' })),
    );
  expect((await signal('e', 1)).woken).toBe(1000);
  await client.query('select tock.promote()');
  expect(await claim(client, 'q', { limit: 2000 })).toHaveLength(1500);
  await client.query('select tock.promote()');
  expect(await value(client, 'select count(*)::integer from tock.event_waits')).toBe(0);
});

test('a wake-up moves no other task behind', async () => {
  await save(await begun(), { name: 'w', event: 'e' });
  await enqueue(client, 'late', [{ delay_seconds: 3600 }]);
  await client.query("update tock.waiting set due_at = clock_timestamp() where queue = 'late'");
  await signal('e');
  await client.query('select tock.promote()');
  expect(await claim(client, 'late')).toHaveLength(1);
});

test('promotion does not wait for a waiter that another transaction has locked', async () => {
  const run = await begun();
  await save(run, { name: 'w', event: 'e' });
  await signal('other');
  await client.query("insert into tock.events (event, more_waiters) values ('e', true)");
  const holder = await begin();
  await holder.query('select from tock.waiting for update');
  await client.query('select tock.promote()');
  await holder.query('commit');
  await client.query('select tock.promote()');
  expect((await next()).id).toBe(run.id);
});

test('a wait that is older than a day and begins again is not deleted', async () => {
  const run = await begun();
  await save(run, { name: 'w', event: 'e' });
  await client.query("update tock.event_waits set waiting_since = now() - interval '2 days'");
  await client.query('select tock.change($1, $2)', [[run.id], { delay_seconds: 0 }]);
  const awake = await next();
  await overlapping(
    (on) => save(awake, { name: 'w', event: 'e' }, on),
    (on) => value(on, 'select tock.prune_events(100)'),
  );
  expect(await signal('e')).toEqual({ accepted: true, woken: 1 });
});

test('a leftover wait of one stage is no answer in the next', async () => {
  const run = await begun({ pipeline: ['q', 'then'] });
  await saveAll(run.lease, [
    { id: run.id, name: 'approval', event: 'one' },
    { id: run.id, name: 'nap', sleep_seconds: 60 },
  ]);
  await client.query('select tock.change($1, $2)', [[run.id], { delay_seconds: 0 }]);
  const awake = await next();
  await complete(client, awake.lease, [{ id: run.id, result: 1 }]);
  const then = await next('then');
  await save(then, { name: 'nap', sleep_seconds: 60 });
  await signal('one', 'foreign');
  expect(await stepsOf(run.id)).toEqual({ nap: ['waiting', null] });
});

test('an event is kept for 30 days', async () => {
  await signal('old', 1);
  await signal('young', 2);
  await client.query(
    "update tock.events set signalled_at = now() - interval '31 days' where event = 'old'",
  );
  await client.query('select tock.prune()');
  const run = await begun();
  const saved = await saveAll(run.lease, [
    { id: run.id, name: 'a', event: 'young' },
    { id: run.id, name: 'b', event: 'old' },
  ]);
  expect(saved.map(({ state }) => state)).toEqual(['done', 'waiting']);
});
