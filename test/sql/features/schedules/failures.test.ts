import { expect, test } from 'vitest';
import { begin } from '../../kernel/sessions.ts';
import { client, databasePerTest } from '../../test_database.ts';
import { claim, rows, value } from '../../verbs.ts';
import { backdateSchedule, fireSchedules, putSchedule, showSchedule } from './schedules.ts';

databasePerTest();

const seconds = (from: Date | null, to: Date | null) => (Number(to) - Number(from)) / 1000;

test('a failed fire is recorded, delays no other schedule, and its schedule continues', async () => {
  const large = { queue: 'small', every_seconds: 30, payload: 'x'.repeat(2000) };
  await putSchedule(client, 'bad', large);
  await client.query(`select tock.put_queue('small', '{"max_payload_bytes": 1024}')`);
  await putSchedule(client, 'good', { queue: 'small', every_seconds: 30 });
  for (const name of ['bad', 'good']) await backdateSchedule(client, name, 29);
  expect(await fireSchedules(client)).toBe(2);
  const bad = await showSchedule(client, 'bad');
  expect(bad).toMatchObject({ last_outcome: 'failed', failures: 1 });
  expect(bad.last_error).toContain('1024 bytes');
  expect(Number(bad.next_fire_at)).toBeGreaterThan(Date.now());
  expect(await showSchedule(client, 'good')).toMatchObject({ last_outcome: 'fired' });
  const finding = "select detail from tock.doctor() where finding = 'schedules fail'";
  expect(await value(client, finding)).toContain('bad (1 time ');
  await client.query(`select tock.put_queue('small', '{"max_payload_bytes": 4096}')`);
  await backdateSchedule(client, 'bad', 29);
  await fireSchedules(client);
  const mended = { last_outcome: 'fired', failures: 0, last_error: null };
  expect(await showSchedule(client, 'bad')).toMatchObject(mended);
});

test('a fire that fails for a passing reason is tried again, not lost', async () => {
  const options = { unique_key: 'k', on_conflict: 'replace' };
  await putSchedule(client, 'held', { queue: 'held', every_seconds: 3600, options, payload: 1 });
  await client.query(`select tock.enqueue('held', '[{"unique_key": "k", "delay_seconds": 60}]')`);
  const other = await begin();
  await other.query(
    `select tock.enqueue('held', '[{"unique_key": "k", "on_conflict": "replace", "delay_seconds": 60}]')`,
  );
  await backdateSchedule(client, 'held', 30);
  await backdateSchedule(client, 'held', 1800);
  await client.query("update tock.schedules set missed_after_seconds = 86400 where name = 'held'");
  await client.query("set lock_timeout = '200ms'");
  await fireSchedules(client);
  await client.query('reset lock_timeout');
  const put_off = await showSchedule(client, 'held');
  await other.query('rollback');
  expect(put_off).toMatchObject({ last_outcome: null, failures: 1 });
  expect(seconds(new Date(), put_off.due_at)).toBeLessThanOrEqual(10);
  await client.query("update tock.schedule_next_fires set due_at = now() where schedule = 'held'");
  await fireSchedules(client);
  const fired = { last_outcome: 'fired', last_fire_at: put_off.next_fire_at, failures: 0 };
  expect(await showSchedule(client, 'held')).toMatchObject(fired);
});

test('the next fire creates a dropped queue again', async () => {
  await putSchedule(client, 'homeless', { queue: 'dropped', every_seconds: 30 });
  await client.query(`select tock.put_queue('dropped', '{"paused": true}')`);
  await client.query("select tock.drop_queue('dropped')");
  await backdateSchedule(client, 'homeless', 29);
  await fireSchedules(client);
  expect(await claim(client, 'dropped')).toHaveLength(1);
});

test('a unique key under an older snapshot: the fire is tried again, not lost', async () => {
  const options = { unique_key: 'k' };
  await putSchedule(client, 'old', { queue: 'old', every_seconds: 3600, options });
  await backdateSchedule(client, 'old', 10);
  await client.query('begin isolation level repeatable read');
  await fireSchedules(client);
  await client.query('commit');
  expect(await showSchedule(client, 'old')).toMatchObject({ last_outcome: null, failures: 1 });
  await client.query("update tock.schedule_next_fires set due_at = now() where schedule = 'old'");
  await fireSchedules(client);
  expect(await showSchedule(client, 'old')).toMatchObject({ last_outcome: 'fired', failures: 0 });
});

test('one maintenance run prunes any number of fires, seven days after them', async () => {
  await putSchedule(client, 'recent', { queue: 'q', every_seconds: 3600 });
  await client.query("select tock.run_schedule('recent')");
  await client.query(
    `insert into tock.schedule_history (schedule, fire_at, outcome, fired_at)
     select 'x', now(), 'missed', now() - interval '8 days' from generate_series(1, 25000)`,
  );
  await client.query("select tock.run_maintenance('prune', 600)");
  const left = 'select schedule from tock.schedule_history';
  expect(await rows(client, left)).toEqual([{ schedule: 'recent' }]);
});

test.each([
  ['cron', "time_zone = 'Gone/Away'"],
  ['period', "anchor_at = '-infinity'"],
])(
  'a schedule whose next fire cannot be computed (%s) is delayed, and the others are fired',
  async (name, broken) => {
    await putSchedule(client, 'cron', { queue: 'q', cron: '* * * * *' });
    await putSchedule(client, 'period', { queue: 'q', every_seconds: 60 });
    await putSchedule(client, 'good', { queue: 'q', every_seconds: 60 });
    for (const each of ['cron', 'period', 'good']) await backdateSchedule(client, each, 100);
    await client.query(`update tock.schedules set ${broken} where name = '${name}'`);
    await fireSchedules(client);
    expect(await showSchedule(client, 'good')).toMatchObject({ last_outcome: 'fired' });
    const put_off = `select failures, due_at > now() + interval '59 minutes' as far
      from tock.schedule_next_fires where failures > 0`;
    expect(await rows(client, put_off)).toEqual([{ failures: 1, far: true }]);
  },
);
