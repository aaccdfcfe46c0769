import { expect, test } from 'vitest';
import { begun, save, signal } from '../../features/steps/steps.ts';
import { cancel } from '../../kernel/change/changes.ts';
import { client, databasePerTest } from '../../test_database.ts';
import { complete, type Run } from '../../verbs.ts';
import { doctor, expectDoctor } from '../findings.ts';

databasePerTest();

const WEEK = 7 * 86_400;

/** Lets all waits have begun this long ago. */
async function waited(interval: string): Promise<void> {
  await client.query('update tock.event_waits set waiting_since = now() - $1::interval', [
    interval,
  ]);
  await client.query("update tock.steps set saved_at = now() - $1::interval where kind = 'event'", [
    interval,
  ]);
}

test('a task that has waited for an event for over a day is found, with what to type, until the event comes', async () => {
  const run = await begun();
  const event = 'orders/17/approved';
  await save(run, { name: 'approval', event });
  await waited('23 hours');
  expect(await doctor()).toEqual([]);
  await waited('25 hours');
  await expectDoctor(
    '^warning: tasks have waited for an event for long: 1 task waits for over a day: ' +
      `${event} \\(task ${run.id} since 20[^ ]*Z\\) => ` +
      `.*tock signal ${event} PAYLOAD; .*tock cancel ${run.id}$`,
  );
  await signal(event, { by: 'ann' });
  expect(await doctor()).toEqual([]);
});

test('waits with a timeout are a note, counted by event, the oldest first, without cancelled tasks', async () => {
  const runs: Run[] = [];
  for (const event of ['deploy', 'deploy', 'the audit']) {
    const run = await begun();
    await save(run, { name: 'w', event, timeout_seconds: WEEK });
    runs.push(run);
  }
  const [first, , oldest] = runs.map(({ id }) => id);
  await waited('30 hours');
  await client.query(
    "update tock.steps set saved_at = saved_at - interval '1 hour' where task_id = $1",
    [oldest],
  );
  await expectDoctor(
    `^note: .*: 3 tasks wait for over a day: the audit \\(task ${oldest} since [^ ]*Z\\), ` +
      `deploy \\(task ${first} since [^ ]*Z, and 1 more\\) => .*tock signal 'the audit' PAYLOAD; `,
  );
  await cancel(client, [oldest as string]);
  await expectDoctor(`^note: .*: 2 tasks wait for over a day: deploy \\(task ${first} `);
});

test('an unfinished task with more than 10,000 steps is found', async () => {
  const run = await begun();
  /** Saves numbered steps, all of one task, or each of a task of its own. */
  const add = async (from: number, to: number, task: string | null = run.id) => {
    await client.query(
      `insert into tock.steps (position, task_id, kind, state, name)
       select tock.position_of($1), coalesce($2::bigint, n), 'step', 'done', 's' || n
       from generate_series($3::int, $4::int) n`,
      [run.run_id, task, from, to],
    );
    await client.query('analyze tock.steps');
  };
  await add(1, 3000, null);
  await add(1, 10_000);
  expect(await doctor()).toEqual([]);
  await add(10_001, 10_001);
  await expectDoctor(
    `^warning: a task has too many steps: task ${run.id} of queue q has saved more than 10,000 => .*tock cancel ${run.id}$`,
  );
  await complete(client, run.lease);
  expect(await doctor()).toEqual([]);
});
