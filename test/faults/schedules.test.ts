import type pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type OwnCluster, ownCluster } from '../database.ts';
import { expectWhole } from '../sql/audit.ts';
import { type Fired, fired, put, queued, show } from '../sql/schedules.ts';
import { value } from '../sql/support.ts';

let cluster: OwnCluster;

beforeAll(async () => {
  cluster = await ownCluster();
});

afterAll(() => cluster?.drop());

const seconds = (fires: Fired[], ...outcomes: string[]) =>
  fires
    .filter(({ outcome }) => outcomes.includes(outcome))
    .map(({ fire_at }) => Math.floor(Number(fire_at) / 1000));

const names = ['skip', 'one', 'all', 'five', 'lone', 'cron'];

async function make(client: pg.Client): Promise<void> {
  const each = { every_seconds: 1, missed_after_seconds: 2 };
  await put(client, 'skip', { queue: 'skip', ...each, missed: 'skip' });
  await put(client, 'one', { queue: 'one', ...each });
  await put(client, 'all', { queue: 'all', ...each, missed: 'all' });
  await put(client, 'five', { queue: 'five', ...each, missed: 'all', missed_limit: 5 });
  await put(client, 'lone', { queue: 'lone', ...each, missed: 'all', overlap: 'skip' });
  await put(client, 'cron', { queue: 'cron', cron: '* * * * * *', missed_after_seconds: 2 });
}

test('a database that was stopped over twenty fires catches up by the rules, with ticks alone and nothing twice', async () => {
  const client = await cluster.connect();
  if (await value(client, "select to_regclass('cron.job') is not null")) {
    await client.query('select cron.unschedule(jobname) from cron.job');
  }
  await make(client);
  await new Promise((resolve) => setTimeout(resolve, 2500));
  await client.query('select tock.tick()');
  const before = new Map<string, Fired[]>();
  for (const name of names) before.set(name, await fired(client, name));
  const wake = await value<Date>(client, 'select tock.next_wake_at()');
  await client.end();
  await cluster.stop();
  const stopped = Date.now();
  await new Promise((resolve) => setTimeout(resolve, 20_000 + 1000 - (stopped % 1000)));
  await cluster.start();
  const started = Math.floor(Date.now() / 1000);
  const clients = await Promise.all([1, 2, 3, 4, 5, 6, 7, 8].map(() => cluster.connect()));
  const [one] = clients as [pg.Client];
  expect(await value<Date>(one, 'select tock.next_wake_at()')).toEqual(wake);
  await Promise.all(clients.map((each) => each.query('select tock.tick()')));
  await one.query('select tock.tick()');
  const now = Math.floor(Date.now() / 1000);

  for (const name of names) {
    const all = await fired(one, name);
    const tasks = all.filter(({ task_id }) => task_id !== null);
    const at = seconds(tasks, 'fired');
    expect(at, name).toEqual([...new Set(at)]);
    expect(await queued(one, name), name).toHaveLength(tasks.length);
    const late = at.filter((second) => second > wake.getTime() / 1000 - 1 && second < started - 4);
    const since = all.slice(before.get(name)?.length);
    const first = wake.getTime() / 1000;
    if (name === 'skip') expect(late).toEqual([]);
    if (name === 'one' || name === 'cron') {
      // The last of those due: it stands for all that were missed.
      expect(seconds(since, 'missed')).toHaveLength(1);
      expect(late).toEqual([]);
      expect(seconds(since, 'fired').length).toBeGreaterThanOrEqual(1);
      expect(seconds(since, 'fired')[0]).toBeGreaterThan(started - 4);
    }
    if (name === 'all') {
      expect(at).toEqual(at.map((_, n) => (at[0] ?? 0) + n));
      expect(late.length).toBeGreaterThanOrEqual(15);
    }
    if (name === 'five') {
      expect(late).toEqual([0, 1, 2, 3, 4].map((n) => first + n));
    }
    if (name === 'lone') expect(at).toHaveLength(1);
    const { next_fire_at } = await show(one, name);
    expect(Number(next_fire_at) / 1000, name).toBeGreaterThanOrEqual(now - 1);
  }
  await expectWhole(one);
});
