import type pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type OwnCluster, ownCluster } from '../database.ts';
import {
  backdateSchedule,
  putSchedule,
  queuedTasks,
  scheduleHistory,
} from '../sql/features/schedules/schedules.ts';
import { expectInvariants } from '../sql/invariants.ts';
import { value } from '../sql/verbs.ts';

let cluster: OwnCluster;

beforeAll(async () => {
  cluster = await ownCluster();
});

afterAll(() => cluster?.drop());

const upTo = (last: number) => Array.from({ length: last + 1 }, (_, n) => n);

/** The outcomes of each schedule's fires, in hours after the last fire before the stop. */
const wanted: Record<string, { fired: number[]; missed?: number[]; overlapped?: number[] }> = {
  skip: { fired: [0, 19, 20], missed: [1] },
  one: { fired: [0, 20], missed: [1] },
  all: { fired: upTo(20) },
  five: { fired: [0, 1, 2, 3, 4, 5, 19, 20], missed: [6] },
  lone: { fired: [0], overlapped: upTo(20).slice(1) },
  cron: { fired: [0, 20], missed: [1] },
};
const names = Object.keys(wanted);

/** Creates hourly schedules. Their minute is half an hour away, so none fires during the test. */
async function make(client: pg.Client): Promise<void> {
  const each = { every_seconds: 3600, missed_after_seconds: 7200 };
  const minute = (new Date().getUTCMinutes() + 30) % 60;
  await putSchedule(client, 'skip', { queue: 'skip', ...each, missed: 'skip' });
  await putSchedule(client, 'one', { queue: 'one', ...each });
  await putSchedule(client, 'all', { queue: 'all', ...each, missed: 'all' });
  await putSchedule(client, 'five', { queue: 'five', ...each, missed: 'all', missed_limit: 5 });
  await putSchedule(client, 'lone', { queue: 'lone', ...each, missed: 'all', overlap: 'skip' });
  await putSchedule(client, 'cron', {
    queue: 'cron',
    cron: `${minute} * * * *`,
    missed_after_seconds: 7200,
  });
}

test('after a stop of twenty fires ticks alone catch up by the missed rules, and fire nothing twice', async () => {
  const client = await cluster.connect();
  if (await value(client, "select to_regclass('cron.job') is not null")) {
    await client.query('select cron.unschedule(jobname) from cron.job');
  }
  await make(client);
  for (const name of names) await backdateSchedule(client, name, 3600);
  await client.query('select tock.tick()');
  const wake = await value<Date>(client, 'select tock.next_wake_at()');
  await client.end();
  await cluster.stop();
  await cluster.start();
  const clients = await Promise.all([1, 2, 3, 4, 5, 6, 7, 8].map(() => cluster.connect()));
  const [first] = clients as [pg.Client];
  expect(await value<Date>(first, 'select tock.next_wake_at()')).toEqual(wake);
  // Moves the history and the next fires back by twenty hours.
  await first.query(
    "update tock.schedule_history set fire_at = fire_at - interval '20 hours', due_at = due_at - interval '20 hours'",
  );
  for (const name of names) await backdateSchedule(first, name, 20 * 3600);
  await Promise.all(clients.map((each) => each.query('select tock.tick()')));
  await first.query('select tock.tick()');

  for (const name of names) {
    const all = await scheduleHistory(first, name);
    const since = (at: Date) => (Number(at) - Number(all[0]?.fire_at)) / 3_600_000;
    const byOutcome = Map.groupBy(all, ({ outcome }) => outcome);
    const at = [...byOutcome].map(([outcome, of]) => [
      outcome,
      of.map((fire) => since(fire.fire_at)),
    ]);
    expect(Object.fromEntries(at), name).toEqual(wanted[name]);
    const tasks = all.filter(({ task_id }) => task_id !== null);
    expect(await queuedTasks(first, name), name).toHaveLength(tasks.length);
  }
  await expectInvariants(first);
});
