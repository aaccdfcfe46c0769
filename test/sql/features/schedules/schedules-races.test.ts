import { expect, test } from 'vitest';
import { conditionTimeout } from '../../../timeout.ts';
import { expectInvariants } from '../../invariants.ts';
import { begin, overlapping } from '../../kernel/sessions.ts';
import { client, databasePerTest, db } from '../../test_database.ts';
import { pidOf, rows, value, waitUntil } from '../../verbs.ts';
import {
  backdateSchedule,
  fireSchedules,
  putSchedule,
  queuedTasks,
  scheduleHistory,
  showSchedule,
} from './schedules.ts';

databasePerTest();

const sessions = (count: number) => Promise.all(Array.from({ length: count }, () => db.connect()));

async function manyDue(count: number): Promise<void> {
  await client.query(
    `select tock.put_schedule('s' || n, json_build_object('queue', 'q' || n % 5, 'every_seconds', 3600, 'payload', n)::jsonb)
     from generate_series(1, $1) n`,
    [count],
  );
  await client.query(
    `update tock.schedules set anchor_at = anchor_at - interval '1 hour';
     update tock.schedule_next_fires set fire_at = fire_at - interval '1 hour', due_at = due_at - interval '1 hour'`,
  );
}

/** Expects every schedule to have been fired exactly once, with its task. */
async function expectOnce(count: number): Promise<void> {
  const fires = `select count(*)::int as fires, count(distinct schedule)::int as schedules
    from tock.schedule_history where outcome = 'fired'`;
  expect(await rows(client, fires)).toEqual([{ fires: count, schedules: count }]);
  const payloads =
    'select array_agg(payload::text::int order by payload::text::int) from tock.runs';
  expect(await value(client, payloads)).toEqual(Array.from({ length: count }, (_, n) => n + 1));
  expect(await value(client, 'select count(*)::int from tock.schedule_next_fires')).toBe(count);
  await expectInvariants(client);
}

const drivers = [
  'select tock.tick()',
  'select tock.fire_schedules(30)',
  "select tock.run_maintenance('fire_schedules')",
  "select id from tock.claim('q1', p_limit => 1, p_own_transaction => true)",
];

test('eight sessions fire two hundred schedules at once, and each fire makes one task', async () => {
  await manyDue(200);
  const clients = await sessions(8);
  await Promise.all(
    clients.map(async (connection, n) => {
      for (let k = 0; k < 12; k++) await connection.query(drivers[(n + k) % drivers.length] ?? '');
    }),
  );
  await fireSchedules(client);
  await expectOnce(200);
});

test('fires of a killed session are rolled back, and others fire them', async () => {
  await manyDue(200);
  const victim = await db.connect();
  const pid = await pidOf(victim);
  await victim.query('begin');
  await victim.query('select tock.fire_schedules(100)');
  const others = [await db.connect(), await db.connect()];
  const firing = others.map(async (other) => {
    for (let k = 0; k < 10; k++) await other.query('select tock.fire_schedules(20)');
  });
  await client.query('select pg_terminate_backend($1)', [pid]);
  await Promise.all(firing);
  const gone = 'select count(*) = 0 from pg_stat_activity where pid = $1';
  await waitUntil('the killed session is gone', () => value<boolean>(client, gone, [pid]));
  await fireSchedules(client);
  await expectOnce(200);
});

test('an open transaction that fires delays no other schedule and no claim', async () => {
  await manyDue(50);
  const other = await begin();
  expect(await value(other, 'select tock.fire_schedules(10)')).toBe(10);
  await client.query(`set statement_timeout = ${conditionTimeout}`);
  await client.query("select id from tock.claim('q1', p_own_transaction => true)");
  await client.query('select tock.tick()');
  expect(await value(client, 'select count(*)::int from tock.schedule_history')).toBe(40);
  await other.query('rollback');
  // Each call reads a little below the newest fire, so these fires need no sweep.
  expect(await fireSchedules(client, 1000, false)).toBe(10);
  await expectOnce(50);
});

test('the sweep finds a schedule that was put in a long transaction', async () => {
  const other = await begin();
  await putSchedule(other, 'late', { queue: 'late', every_seconds: 3600 });
  await backdateSchedule(other, 'late', 10);
  await manyDue(60);
  await fireSchedules(client);
  await client.query(
    'update tock.schedule_history set due_at = clock_timestamp() where due_at is not null',
  );
  await other.query('commit');
  expect(await fireSchedules(client, 1000, false)).toBe(0);
  expect(await fireSchedules(client, 1000, true)).toBe(1);
});

test('the maintenance job sweeps once a minute by itself', async () => {
  await putSchedule(client, 'low', { queue: 'low', every_seconds: 3600 });
  await client.query('select tock.tick()');
  await client.query(
    `insert into tock.schedule_history (schedule, fire_at, due_at, outcome)
     select 'x', now(), now(), 'missed' from generate_series(1, 60)`,
  );
  await backdateSchedule(client, 'low', 10);
  await client.query("select tock.run_maintenance('fire_schedules')");
  expect(await queuedTasks(client, 'low')).toHaveLength(0);
  await client.query(
    "update tock.maintenance_jobs set swept_at = swept_at - interval '10 minutes' where name = 'fire_schedules'",
  );
  await client.query("select tock.run_maintenance('fire_schedules')");
  expect(await queuedTasks(client, 'low')).toHaveLength(1);
});

test('a schedule that is put while it is being fired has one next fire, by its new timing', async () => {
  await putSchedule(client, 's', { queue: 'q', every_seconds: 3600 });
  await backdateSchedule(client, 's', 10);
  await overlapping(
    (on) => fireSchedules(on),
    (on) => putSchedule(on, 's', { queue: 'q', cron: '@yearly' }),
  );
  expect(await rows(client, 'select from tock.schedule_next_fires')).toHaveLength(1);
  const shown = await showSchedule(client, 's');
  expect(shown).toMatchObject({ last_outcome: 'fired' });
  expect(shown.next_fire_at?.toISOString()).toMatch(/-01-01T00:00:00/);
});

test('a schedule that is being put is not fired, and not afterwards by its old timing', async () => {
  await putSchedule(client, 's', { queue: 'q', every_seconds: 3600 });
  await backdateSchedule(client, 's', 10);
  const other = await begin();
  await putSchedule(other, 's', { queue: 'q', cron: '@yearly' });
  expect(await fireSchedules(client)).toBe(0);
  await other.query('commit');
  expect(await fireSchedules(client)).toBe(0);
  expect(await scheduleHistory(client, 's')).toEqual([]);
});

test('a schedule stays consistent while sessions put, pause, resume, run and drop it at once', async () => {
  const calls = [
    `select tock.put_schedule('s', '{"queue": "q", "every_seconds": 1, "missed": "all"}')`,
    `select tock.put_schedule('s', '{"queue": "q", "cron": "* * * * * *"}')`,
    "select tock.pause_schedule('s')",
    "select tock.resume_schedule('s')",
    "select tock.run_schedule('s')",
    'select tock.fire_schedules()',
    "select tock.drop_schedule('s')",
  ];
  const clients = await sessions(6);
  await Promise.all(
    clients.map(async (connection, n) => {
      for (let k = 0; k < 60; k++)
        await connection.query(calls[(n * 3 + k * 5) % calls.length] ?? '');
    }),
  );
  await client.query(calls[0] ?? '');
  expect(await value(client, 'select count(*)::int from tock.schedule_next_fires')).toBe(1);
  const runs = await value(client, 'select count(*)::int from tock.runs');
  const fires = "select count(*)::int from tock.schedule_history where outcome in ('fired', 'run')";
  expect(await value(client, fires)).toBe(runs);
});

test('a sweep records open writers: after their end next_wake_at comes soon, and a tick sweeps', async () => {
  const wake = () => value<Date | null>(client, 'select tock.next_wake_at()');
  await putSchedule(client, 'far', { queue: 'q', cron: '@yearly' });
  const other = await begin();
  await putSchedule(other, 'late', { queue: 'late', every_seconds: 3600 });
  await client.query('select tock.tick()');
  expect(Number(await wake()) - Date.now()).toBeGreaterThan(1000);
  // Meanwhile other sessions have fired later fires.
  await backdateSchedule(other, 'late', 10);
  await client.query(
    `insert into tock.schedule_history (schedule, fire_at, due_at, outcome)
     select 'x', now(), now(), 'missed' from generate_series(1, 60)`,
  );
  await other.query('commit');
  // The pause until the next sweep is twenty times the last sweep's duration, so it is short.
  expect(Number(await wake()) - Date.now()).toBeLessThan(60_000);
  const ticked = () => client.query('select tock.tick()').then(() => queuedTasks(client, 'late'));
  await expect.poll(ticked).not.toEqual([]);
});
