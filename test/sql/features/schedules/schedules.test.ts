import { expect, test } from 'vitest';
import { client, databasePerTest } from '../../test_database.ts';
import { claim, complete, leaseOf, rows, task, value } from '../../verbs.ts';
import {
  backdateSchedule,
  fireSchedules,
  putSchedule,
  queuedTasks,
  scheduleHistory,
  showSchedule,
} from './schedules.ts';

databasePerTest();

const seconds = (from: Date | null, to: Date | null) => (Number(to) - Number(from)) / 1000;

test('a schedule fires its task once, with all its options, and gets its next fire', async () => {
  const made = await putSchedule(client, 'nightly', {
    queue: 'reports',
    payload: { kind: 'nightly' },
    options: { priority: 2, tenant: 'acme', timeout_seconds: 60 },
    cron: '0 3 * * *',
    time_zone: 'Europe/Berlin',
  });
  expect(made).toMatchObject({ state: 'active', time_zone: 'Europe/Berlin', last_outcome: null });
  expect(await fireSchedules(client)).toBe(0);
  await backdateSchedule(client, 'nightly', 86_400);
  await client.query(
    "update tock.schedules set missed_after_seconds = 86400 where name = 'nightly'",
  );
  const due = (await showSchedule(client, 'nightly')).next_fire_at as Date;
  expect(await fireSchedules(client)).toBe(1);
  expect(await fireSchedules(client)).toBe(0);
  const after = await showSchedule(client, 'nightly');
  expect(after).toMatchObject({ last_outcome: 'fired', last_fire_at: due, failures: 0 });
  expect(after.next_fire_at).toEqual(made.next_fire_at);
  expect(await task(client, after.last_task_id as string)).toMatchObject({
    queue: 'reports',
    priority: 2,
    tenant: 'acme',
    payload: { kind: 'nightly' },
    options: { timeout_seconds: 60 },
  });
  expect(await scheduleHistory(client, 'nightly')).toMatchObject([
    { fire_at: due, outcome: 'fired', task_id: after.last_task_id, error: null },
  ]);
});

test('a period never drifts: each fire is the one before and the period, however late it is', async () => {
  const settings = { queue: 'periods', every_seconds: 7, missed: 'all', fire_as: 'fire' };
  await putSchedule(client, 'period', settings);
  await backdateSchedule(client, 'period', 30);
  const first = (await showSchedule(client, 'period')).next_fire_at as Date;
  await fireSchedules(client);
  const all = await scheduleHistory(client, 'period');
  expect(all.length).toBeGreaterThan(3);
  all.forEach(({ fire_at }, n) => {
    expect(seconds(first, fire_at)).toBe(7 * n);
  });
  const { next_fire_at } = await showSchedule(client, 'period');
  expect(seconds(first, next_fire_at)).toBe(7 * all.length);
  expect(await queuedTasks(client, 'periods')).toEqual(
    all.map(({ fire_at }) => ({ fire: { schedule: 'period', fire_at: fire_at.toISOString() } })),
  );
});

test('a period begins at starts_at, and ends before ends_at', async () => {
  const base = Math.ceil(Date.now() / 1000) * 1000;
  const at = (offset: number) => new Date(base + offset * 1000).toISOString();
  const settings = { queue: 'q', every_seconds: 60, starts_at: at(100), ends_at: at(220) };
  const made = await putSchedule(client, 'season', settings);
  expect(made.next_fire_at?.toISOString()).toBe(at(100));
  const next = await rows(client, "select fire_at from tock.next_fires('season')");
  expect(next).toEqual([100, 160].map((offset) => ({ fire_at: new Date(at(offset)) })));
});

test('a schedule with run_at ends after its fire, and putting it again unchanged does nothing', async () => {
  const at = (seconds: number) => new Date(Date.now() + 1000 * seconds).toISOString();
  const once = { queue: 'once', run_at: at(-1), payload: 1 };
  await putSchedule(client, 'once', { ...once, run_at: at(1000) });
  await client.query('update tock.schedules set run_at = $1', [once.run_at]);
  await client.query('update tock.schedule_next_fires set fire_at = $1, due_at = $1', [
    once.run_at,
  ]);
  expect(await fireSchedules(client)).toBe(1);
  const over = { state: 'over', next_fire_at: null, due_at: null };
  expect(await showSchedule(client, 'once')).toMatchObject(over);
  expect(await putSchedule(client, 'once', once)).toMatchObject({ state: 'over' });
  expect(await fireSchedules(client)).toBe(0);
  expect(await queuedTasks(client, 'once')).toEqual([1]);
});

test('putting a schedule again keeps its next fire unless its timing changes, and its history always', async () => {
  const settings = { queue: 'again', cron: '*/5 * * * *', payload: 1 };
  const first = await putSchedule(client, 'again', settings);
  await backdateSchedule(client, 'again', 300);
  await fireSchedules(client);
  await backdateSchedule(client, 'again', 300);
  const { next_fire_at } = await showSchedule(client, 'again');
  expect((await putSchedule(client, 'again', settings)).updated_at).toEqual(first.updated_at);
  const other = await putSchedule(client, 'again', { ...settings, payload: 2, missed: 'skip' });
  expect(other).toMatchObject({ next_fire_at, last_outcome: 'fired', payload: 2 });
  const timed = await putSchedule(client, 'again', { ...settings, cron: '0 * * * *' });
  expect(Number(timed.next_fire_at)).toBeGreaterThan(Date.now());
  expect(timed).toMatchObject({ last_outcome: 'fired' });
  expect(await scheduleHistory(client, 'again')).toHaveLength(1);
});

test('a paused schedule does not fire, and fires during its pause do not count as missed', async () => {
  await putSchedule(client, 'pausing', { queue: 'pausing', every_seconds: 10, missed: 'all' });
  const pause = "select state, next_fire_at from tock.pause_schedule('pausing')";
  expect(await rows(client, pause)).toEqual([{ state: 'paused', next_fire_at: null }]);
  await client.query(
    "update tock.schedules set anchor_at = anchor_at - interval '1 hour' where name = 'pausing'",
  );
  expect(await fireSchedules(client)).toBe(0);
  await client.query("select tock.resume_schedule('pausing')");
  const resumed = await showSchedule(client, 'pausing');
  expect(resumed.state).toBe('active');
  expect(seconds(new Date(), resumed.next_fire_at)).toBeLessThanOrEqual(10);
  expect(await fireSchedules(client)).toBe(0);
  expect(await queuedTasks(client, 'pausing')).toEqual([]);
  expect(await rows(client, "select * from tock.pause_schedule('nobody')")).toEqual([]);
});

test('run_schedule fires at once, also when paused, keeps the next fire, and a repeat returns the same task', async () => {
  const { next_fire_at } = await putSchedule(client, 'now', { queue: 'now', cron: '@yearly' });
  const run = (request: string | null) =>
    value<string>(client, "select tock.run_schedule('now', $1)", [request]);
  const first = await run('a');
  expect(await run('a')).toBe(first);
  expect(await run('b')).not.toBe(first);
  await client.query("select tock.pause_schedule('now')");
  const third = await run(null);
  await client.query("select tock.resume_schedule('now')");
  const last = { next_fire_at, last_outcome: 'run', last_task_id: third };
  expect(await showSchedule(client, 'now')).toMatchObject(last);
  const manual = { outcome: 'run' };
  expect(await scheduleHistory(client, 'now')).toMatchObject([manual, manual, manual]);
  expect(await value(client, "select tock.run_schedule('nobody')")).toBeUndefined();
});

test('a dropped schedule fires no more, and its name can be used again', async () => {
  const put = async () => {
    await putSchedule(client, 'gone', { queue: 'gone', every_seconds: 5 });
    await backdateSchedule(client, 'gone', 20);
  };
  await put();
  expect(await value(client, "select tock.drop_schedule('gone')")).toBe(true);
  expect(await value(client, "select tock.drop_schedule('gone')")).toBe(false);
  expect(await fireSchedules(client)).toBe(0);
  expect(await showSchedule(client, 'gone')).toBeUndefined();
  await put();
  expect(await fireSchedules(client)).toBe(1);
});

test('overlap skip makes no task while the last one has not ended', async () => {
  await putSchedule(client, 'skipping', { queue: 'skipping', every_seconds: 30, overlap: 'skip' });
  const round = async () => {
    await backdateSchedule(client, 'skipping', 29);
    await fireSchedules(client);
    return (await showSchedule(client, 'skipping')).last_outcome;
  };
  expect(await round()).toBe('fired');
  expect(await round()).toBe('overlapped');
  const runs = await claim(client, 'skipping');
  expect(await round()).toBe('overlapped');
  await complete(client, leaseOf(runs));
  expect(await round()).toBe('fired');
  expect(await queuedTasks(client, 'skipping')).toHaveLength(2);
});

test('overlap replace cancels the last task that has not ended', async () => {
  await putSchedule(client, 'replacing', { queue: 'q', every_seconds: 30, overlap: 'replace' });
  const ids: string[] = [];
  for (let n = 0; n < 3; n++) {
    await backdateSchedule(client, 'replacing', 29);
    await fireSchedules(client);
    ids.push((await showSchedule(client, 'replacing')).last_task_id as string);
  }
  const states: unknown[] = [];
  for (const id of ids) states.push((await task(client, id))?.state);
  expect(states).toEqual(['cancelled', 'cancelled', 'ready']);
});

test('jitter delays a fire by the same time each time it is computed, up to its bound', async () => {
  await putSchedule(client, 'jitter', { queue: 'q', every_seconds: 60, jitter_seconds: 30 });
  const off = await rows<{ ms: number; again: number }>(
    client,
    `select extract(epoch from tock.due_of(s, f.fire_at) - f.fire_at)::float8 * 1000 as ms,
       extract(epoch from tock.due_of(s, f.fire_at) - f.fire_at)::float8 * 1000 as again
     from tock.schedules s, tock.next_fires('jitter', p_count => 300) f where s.name = 'jitter'`,
  );
  expect(off.every(({ ms, again }) => ms === again && ms >= 0 && ms <= 30_000)).toBe(true);
  // All tenths of the time occur; the bound itself is in the last one.
  expect(new Set(off.map(({ ms }) => Math.min(9, Math.floor(ms / 3000)))).size).toBe(10);
  const { next_fire_at, due_at } = await showSchedule(client, 'jitter');
  expect(seconds(next_fire_at, due_at) * 1000).toBe(off[0]?.ms);
});

test('schedules are listed by name and by queue, page by page', async () => {
  for (const name of ['l1', 'l2', 'l3'])
    await putSchedule(client, name, { queue: 'listed', cron: '@daily' });
  await putSchedule(client, 'k', { queue: 'other', cron: '@daily' });
  const list = async (queue: string | null, after: string | null, limit: number) => {
    const sql = 'select name from tock.schedules($1, $2, $3)';
    return (await rows<{ name: string }>(client, sql, [queue, after, limit])).map(
      (row) => row.name,
    );
  };
  expect(await list('listed', null, 2)).toEqual(['l1', 'l2']);
  expect(await list('listed', 'l2', 2)).toEqual(['l3']);
  expect(await list(null, null, 1000)).toEqual(['k', 'l1', 'l2', 'l3']);
});
