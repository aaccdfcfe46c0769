import { expect, test } from 'vitest';
import { conditionTimeout } from '../../../timeout.ts';
import { begin } from '../../kernel/sessions.ts';
import { client, databasePerTest } from '../../test_database.ts';
import { refusal, rows, value } from '../../verbs.ts';
import {
  backdateSchedule,
  fireSchedules,
  putSchedule,
  queuedTasks,
  showSchedule,
} from './schedules.ts';

databasePerTest();

const wake = () => value<Date | null>(client, 'select tock.next_wake_at()');

/** Puts schedules that are due, in their own queue. */
async function due(prefix: string, count: number, more: object = {}): Promise<void> {
  for (let n = 1; n <= count; n++) {
    await putSchedule(client, `${prefix}${n}`, { queue: prefix, every_seconds: 3600, ...more });
    await backdateSchedule(client, `${prefix}${n}`, 10);
  }
}

test("a claim does not wait for the locked unique key of a schedule's task, and fires the other schedules", async () => {
  await client.query('select tock.tick()');
  await due('held', 5, { options: { unique_key: 'k' } });
  await due('kept', 5);
  const other = await begin();
  await other.query(`select tock.enqueue('held', '[{"unique_key": "k"}]')`);
  await client.query(`set statement_timeout = ${conditionTimeout}`);
  await client.query("select id from tock.claim('else', p_own_transaction => true)");
  expect(await queuedTasks(client, 'kept')).toHaveLength(5);
  for (let n = 1; n <= 5; n++) {
    const put_off = { last_outcome: null, failures: 1 };
    expect(await showSchedule(client, `held${n}`)).toMatchObject(put_off);
  }
  // Makes the next try due; the tick makes it.
  await other.query('rollback');
  await client.query("update tock.schedule_next_fires set due_at = now() where schedule ~ '^held'");
  await client.query('select tock.tick()');
  expect(await showSchedule(client, 'held5')).toMatchObject({ last_outcome: 'fired', failures: 0 });
});

test('one call tries a schedule once, also when it is the only one', async () => {
  await putSchedule(client, 'alone', { queue: 'q', every_seconds: 3600, overlap: 'replace' });
  const id = await value(client, "select tock.run_schedule('alone')");
  const other = await begin();
  await other.query('select tock.cancel(array[$1::bigint])', [id]);
  await backdateSchedule(client, 'alone', 10);
  await fireSchedules(client);
  expect(await showSchedule(client, 'alone')).toMatchObject({ last_outcome: 'run', failures: 1 });
  await other.query('rollback');
});

test('fires that another session rolled back are due at once, and the next tick fires them', async () => {
  await putSchedule(client, 'far', { queue: 'far', cron: '@yearly' });
  await client.query('select tock.tick()');
  await due('a', 2);
  await client.query(
    "update tock.schedule_next_fires set due_at = due_at - interval '5 seconds' where schedule ~ '^a'",
  );
  const other = await begin();
  expect(await value(other, 'select tock.fire_schedules()')).toBe(2);
  await due('b', 60);
  await client.query('select tock.tick()');
  // The open transaction may end without a notification, so next_wake_at() is at most a minute away.
  const until = Number(await wake()) - Date.now();
  expect([until > 10_000, until <= 60_000]).toEqual([true, true]);
  await other.query('rollback');
  expect(Number(await wake()) - Date.now()).toBeLessThan(1000);
  await client.query('select tock.tick()');
  expect(await queuedTasks(client, 'a')).toHaveLength(2);
});

test('after the clock is set back by an hour, schedules still fire', async () => {
  await putSchedule(client, 's', { queue: 'q', every_seconds: 3600 });
  await client.query('select tock.tick()');
  await client.query(
    `update tock.maintenance_jobs set last_started_at = last_started_at + interval '1 hour', swept_at = swept_at + interval '1 hour';
     insert into tock.schedule_history (schedule, fire_at, due_at, outcome)
     select 'x', now(), now() + interval '1 hour', 'missed' from generate_series(1, 60)`,
  );
  await backdateSchedule(client, 's', 10);
  expect((await wake())?.getTime() ?? Infinity).toBeLessThanOrEqual(Date.now());
  await client.query('select tock.tick()');
  expect(await queuedTasks(client, 'q')).toHaveLength(1);
  const ahead = 'select name from tock.maintenance_jobs where last_started_at > now()';
  expect(await rows(client, ahead)).toEqual([]);
});

test('after a slow sweep, the next one for a transaction that has ended waits for the end of the pause', async () => {
  await putSchedule(client, 'far', { queue: 'far', cron: '@yearly' });
  const other = await begin();
  await putSchedule(other, 'late', { queue: 'late', cron: '@yearly' });
  await client.query('select tock.tick()');
  await client.query(
    "update tock.maintenance_jobs set swept_at = clock_timestamp() + interval '20 seconds' where name = 'fire_schedules'",
  );
  await other.query('commit');
  const until = Number(await wake()) - Date.now();
  expect([until > 10_000, until <= 20_000]).toEqual([true, true]);
});

test('a call that changes a schedule is refused with TK503 while another transaction fires it', async () => {
  await due('s', 1);
  const other = await begin();
  await other.query('select tock.fire_schedules()');
  for (const call of [
    "pause_schedule('s1')",
    "run_schedule('s1')",
    "drop_schedule('s1')",
    `put_schedule('s1', '{"queue": "q", "cron": "@daily"}')`,
  ]) {
    expect(await refusal(client.query(`select tock.${call}`)), call).toMatchObject({
      code: 'TK503',
      detail: 'schedule',
      message: expect.stringContaining('firing or changing'),
    });
  }
  await other.query('rollback');
});
