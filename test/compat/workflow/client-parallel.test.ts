import { expect, test } from 'vitest';
import { conditionTimeout } from '../../timeout.ts';
import { world } from '../qstash/world.ts';
import { client, serveAt, useWorkflow } from './world.ts';

useWorkflow();

test('parallel steps run at once and each once, and one delivery goes on with all results', async () => {
  const log: string[] = [];
  const results: unknown[] = [];
  let begun = Promise.withResolvers<void>();
  const url = await serveAt('/parallel', async (context) => {
    const before = await context.run('before', () => 1);
    const letters = await Promise.all(
      ['a', 'b', 'c', 'd', 'e', 'f'].map((name) =>
        context.run(name, async () => {
          log.push(name);
          if (name === 'b') begun.resolve();
          if (name === 'a') await begun.promise;
          return name.toUpperCase();
        }),
      ),
    );
    const after = await context.run('after', () => {
      log.push('after');
      return letters.join('');
    });
    results.push([before, after]);
  });
  for (let round = 1; round <= 5; round++) {
    log.length = 0;
    begun = Promise.withResolvers();
    await client.trigger({ url });
    await world.deliver();
    expect(log.slice().sort()).toEqual(['a', 'after', 'b', 'c', 'd', 'e', 'f']);
    expect(log.at(-1)).toBe('after');
    expect(results).toHaveLength(round);
    expect(results.at(-1)).toEqual([1, 'ABCDEF']);
  }
});

test('results of one run are added one after the other, so that one delivery sees them all', async () => {
  const url = await serveAt('/locked', (context) => context.sleep('nap', 3600));
  const { workflowRunId: run } = await client.trigger({ url });
  await world.deliver();
  const add = (stepId: number) =>
    world.send(`POST /v2/publish/${url}`, {
      headers: { 'Upstash-Workflow-RunId': run },
      body: JSON.stringify({ stepId, stepName: 'a', stepType: 'Run', concurrent: 2 }),
    });
  expect((await add(2)).status).toBe(201);
  const { owner } = world.tock;
  // As a call that has added a result, and has not committed yet.
  await owner.query('begin');
  await owner.query(
    `select from tock.unique_keys where unique_key like 'qstash lock %'
     order by created_at desc limit 1 for update`,
  );
  const added = add(3);
  const waiting = async () =>
    (
      await owner.query(
        `select count(*)::integer as n from pg_stat_activity
         where pg_backend_pid() = any (pg_blocking_pids(pid))`,
      )
    ).rows[0].n;
  await expect.poll(waiting, { timeout: conditionTimeout }).toBe(1);
  await owner.query('commit');
  expect((await added).status).toBe(201);
  await client.cancel(run);
});

test('sleeps and events wait beside steps, and what ends last goes on', async () => {
  const ended: unknown[] = [];
  const url = await serveAt('/mixed', async (context) => {
    const [a, , b] = await Promise.all([
      context.run('a', () => 'a'),
      context.sleep('nap', 3600),
      context.waitForEvent('b', 'mixed', { timeout: '2h' }),
    ]);
    await context.run('end', () => void ended.push([a, b]));
  });
  for (const order of ['notify first', 'sleep first']) {
    await client.trigger({ url });
    await world.deliver();
    const notify = async () => {
      expect(await client.notify({ eventId: 'mixed', eventData: order })).toHaveLength(1);
      await world.deliver();
    };
    if (order === 'notify first') await notify();
    // The wait is due too, if it is not over: only the sleep is to be.
    await world.tock.owner.query(
      `update tock.waiting set due_at = now() - interval '1 second'
       where queue = 'qstash' and due_at < now() + interval '90 minutes'`,
    );
    await world.deliver();
    if (order === 'sleep first') await notify();
    expect(ended.at(-1)).toEqual(['a', { eventData: order, timeout: false }]);
  }
  expect(ended).toHaveLength(2);
});

test('results of a run whose first message was cancelled do not take its name', async () => {
  const url = await serveAt('/unnamed', (context) => context.sleep('nap', 3600));
  const { workflowRunId } = await client.trigger({ url, delay: '1h', label: 'unnamed' });
  await world.qstash.messages.cancel({ filter: { label: 'unnamed' } });
  for (const stepId of [2, 3]) {
    const { status } = await world.send(`POST /v2/publish/${url}`, {
      headers: { 'Upstash-Workflow-RunId': workflowRunId },
      body: JSON.stringify({ stepId, stepName: 'a', stepType: 'Run', concurrent: 2 }),
    });
    expect([stepId, status]).toEqual([stepId, 201]);
  }
  await client.cancel(workflowRunId);
});
