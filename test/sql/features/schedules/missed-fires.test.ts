import { expect, test } from 'vitest';
import { conditionTimeout } from '../../../timeout.ts';
import { client, databasePerFile } from '../../test_database.ts';
import { rows, value } from '../../verbs.ts';
import {
  backdateSchedule,
  fireSchedules,
  putSchedule,
  queuedTasks,
  type ScheduleFire,
  scheduleHistory,
  showSchedule,
} from './schedules.ts';

databasePerFile();

const nominal = (all: ScheduleFire[], outcome: string) =>
  all.filter((fire) => fire.outcome === outcome).map(({ fire_at }) => Number(fire_at) / 1000);

const hour = 3600;

/**
 * The history of an hourly schedule that was not fired for 20 hours. Its minute is half an hour away, so no fire
 * comes during the test.
 */
async function after(name: string, rule: object) {
  const minute = (new Date().getUTCMinutes() + 30) % 60;
  await putSchedule(client, name, { queue: name, cron: `${minute} * * * *`, ...rule });
  await backdateSchedule(client, name, 20 * hour);
  const from = Number((await showSchedule(client, name)).next_fire_at) / 1000;
  await fireSchedules(client);
  const all = await scheduleHistory(client, name);
  // A second call fires nothing again, and the schedule still has its next fire.
  await fireSchedules(client);
  expect(await scheduleHistory(client, name)).toEqual(all);
  expect(Number((await showSchedule(client, name)).next_fire_at)).toBeGreaterThan(Date.now());
  const tasks = all.filter(({ task_id }) => task_id !== null);
  expect((await queuedTasks(client, name)).length).toBe(tasks.length);
  return { all, from, last: from + 19 * hour, fired: nominal(all, 'fired') };
}

test.each<[string, object, from: number, count: number, missed: number[]]>([
  ['with missed one, the last of twenty missed fires is fired', {}, 19, 1, [0]],
  ['with missed skip, none is fired', { missed: 'skip' }, 0, 0, [0]],
  ['with missed all, all are fired, the oldest first', { missed: 'all' }, 0, 20, []],
  [
    'with a limit of five, the oldest five are fired',
    { missed: 'all', missed_limit: 5 },
    0,
    5,
    [5],
  ],
])('%s', async (name, rule, first, count, missed) => {
  const { all, from, last, fired } = await after(name.replaceAll(/[ ,]+/g, '-'), rule);
  expect(fired).toEqual(Array.from({ length: count }, (_, n) => from + (first + n) * hour));
  expect(nominal(all, 'missed')).toEqual(missed.map((n) => from + n * hour));
  if (first > 0) {
    expect(all[0]).toMatchObject({ outcome: 'missed', task_id: null });
    expect(Number(all[0]?.until_at) / 1000).toBe(last);
  }
});

test.each(['skip', 'replace'])(
  'a schedule with overlap %s catches up with one task',
  async (overlap) => {
    const { all, from, last } = await after(`lone-${overlap}`, { missed: 'all', overlap });
    const kept = all.filter(({ task_id }) => task_id);
    const at = overlap === 'skip' ? from : last;
    expect(kept.map(({ fire_at }) => Number(fire_at) / 1000)).toEqual([at]);
    expect(nominal(all, overlap === 'skip' ? 'overlapped' : 'replaced')).toHaveLength(19);
  },
);

test('fires that are less than a minute late are not missed, also with the rule skip', async () => {
  const late = { queue: 'late', every_seconds: 5, missed: 'skip' };
  await putSchedule(client, 'late', late);
  await putSchedule(client, 'strict', { ...late, missed_after_seconds: 0 });
  for (const name of ['late', 'strict']) await backdateSchedule(client, name, 49);
  await fireSchedules(client);
  const all = await scheduleHistory(client, 'late');
  expect(nominal(all, 'fired').length).toBeGreaterThanOrEqual(9);
  expect(nominal(all, 'missed')).toEqual([]);
  // With missed_after_seconds, a fire may be later or has to be earlier.
  expect(nominal(await scheduleHistory(client, 'strict'), 'fired')).toEqual([]);
});

test('a schedule with a period keeps its phase after missed fires', async () => {
  for (const missed of ['skip', 'one', 'all']) {
    const settings = { queue: 'beat', every_seconds: 7, missed, missed_limit: 3 };
    const first = await putSchedule(client, `beat-${missed}`, settings);
    await backdateSchedule(client, `beat-${missed}`, 5000);
    await fireSchedules(client);
    const { next_fire_at } = await showSchedule(client, `beat-${missed}`);
    expect(((Number(next_fire_at) - Number(first.next_fire_at)) / 1000) % 7).toBe(0);
  }
});

test.each([
  ['every_seconds', { every_seconds: 1 }],
  ['cron', { cron: '* * * * * *' }],
])('ten years of missed fires, one each second (%s), are skipped quickly', async (_, timing) => {
  for (const missed of ['one', 'skip', 'all']) {
    const name = `years-${missed}-${Object.keys(timing)[0]}`;
    await putSchedule(client, name, { queue: 'years', ...timing, missed, missed_limit: 10 });
    await backdateSchedule(client, name, 3650 * 86_400);
  }
  // Stepping through 300 million fires one by one would take hours.
  await client.query(`set statement_timeout = ${conditionTimeout}`);
  await fireSchedules(client);
  await client.query('reset statement_timeout');
  for (const [missed, most] of [
    ['one', 2],
    ['skip', 62],
    ['all', 72],
  ] as const) {
    const all = await scheduleHistory(client, `years-${missed}-${Object.keys(timing)[0]}`);
    const at = nominal(all, 'fired');
    expect(at.length).toBeLessThanOrEqual(most);
    expect(at).toEqual([...new Set(at)].sort());
  }
});

test('next_wake_at is the time of the next fire, to the second, without those of paused schedules', async () => {
  for (const table of ['schedules', 'schedule_next_fires', 'schedule_history'])
    await client.query(`delete from tock.${table}`);
  const wake = () => value<Date | null>(client, 'select tock.next_wake_at()');
  expect(await wake()).toBeNull();
  const far = await putSchedule(client, 'far', { queue: 'q', cron: '0 0 1 1 *' });
  const often = { queue: 'q', every_seconds: 100, jitter_seconds: 5 };
  const near = await putSchedule(client, 'near', often);
  expect(await wake()).toEqual(near.due_at);
  await client.query("select tock.pause_schedule('near')");
  expect(await wake()).toEqual(far.next_fire_at);
  await client.query("select tock.resume_schedule('near')");
  await backdateSchedule(client, 'near', 110);
  await client.query('select tock.tick()');
  const next = await showSchedule(client, 'near');
  expect(next.last_outcome).toBe('fired');
  expect(await wake()).toEqual(next.due_at);
});

test('without pg_cron, ticks alone or claims alone fire schedules', async () => {
  await putSchedule(client, 'ticked', { queue: 'ticked', every_seconds: 3600, payload: 1 });
  await backdateSchedule(client, 'ticked', 30);
  await client.query('select tock.tick()');
  expect(await queuedTasks(client, 'ticked')).toEqual([1]);
  // A tick right after the first one fires what has become due meanwhile.
  await backdateSchedule(client, 'ticked', 30);
  await client.query('select tock.tick()');
  expect(await queuedTasks(client, 'ticked')).toEqual([1, 1]);
  await putSchedule(client, 'claimed', { queue: 'claimed', every_seconds: 3600, payload: 2 });
  await backdateSchedule(client, 'claimed', 30);
  const [run] = await rows<{ payload: number }>(
    client,
    "select payload from tock.claim('claimed', p_own_transaction => true)",
  );
  expect(run?.payload).toBe(2);
});

test('a claim that has fired a schedule commits synchronously', async () => {
  await putSchedule(client, 'sync', { queue: 'sync', every_seconds: 3600 });
  const commits = () =>
    value(
      client,
      "select (select current_setting('synchronous_commit') where c.id > 0) from tock.claim('sync', p_own_transaction => true) c",
    );
  await client.query(`select tock.enqueue('sync', '[{}]')`);
  expect(await commits()).toBe('off');
  await backdateSchedule(client, 'sync', 30);
  expect(await commits()).toBe('on');
});
