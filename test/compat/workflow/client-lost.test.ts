import { expect, test } from 'vitest';
import { world } from '../qstash/world.ts';
import { answer, client, handlerOf, useWorkflow } from './world.ts';

useWorkflow();

/** Ends all leases, as if the Workers that have them had died. */
async function loseLeases(): Promise<void> {
  await world.tock.owner.query(
    `update tock.leases set leased_until = now() - interval '1 minute' where leased_until > now()`,
  );
  await world.tock.owner.query('select tock.reap()');
}

const ways: [way: string, path: string, lose: () => Promise<void>][] = [
  ['whose answer is lost', '/answer', async () => {}],
  ['whose Worker dies', '/worker', loseLeases],
];

test.each(ways)('a delivery %s is repeated, and no step is stored twice', async (_, path, lose) => {
  const log: string[] = [];
  const results: unknown[] = [];
  const handler = await handlerOf(async (context) => {
    const a = await context.run('a', () => log.push('a'));
    const parts = await Promise.all([
      context.run('b', () => log.push('b')),
      context.run('c', () => log.push('c')),
    ]);
    const { workflowRunId } = context;
    await context.run('d', () => log.push('d'));
    results.push([workflowRunId, a, ...parts]);
  });
  const url = world.on(path, async (response, delivery, count) => {
    // Each delivery is made twice: the first one does its work, but no one learns of it.
    if (count % 2 === 0) return void answer(handler, delivery, response);
    await answer(handler, delivery, { writeHead() {}, end() {} } as unknown as typeof response);
    await lose();
    response.destroy();
  });
  const { workflowRunId } = await client.trigger({ url, retries: 10, retryDelay: '0' });
  for (let round = 0; round < 20; round++) await world.deliverLater();
  const { runs } = await client.logs({ workflowRunId });
  expect(runs).toMatchObject([{ workflowState: 'RUN_SUCCESS' }]);
  expect([...new Set(log)].sort()).toEqual(['a', 'b', 'c', 'd']);
  const { body } = await world.tock.send(`GET /v1/tasks?queue=qstash&limit=1000`);
  const steps: string[] = [];
  for (const { id } of body.tasks) {
    const { payload } = (await world.tock.send(`GET /v1/tasks/${id}`)).body;
    const { run, step } = payload.qstash.workflow;
    if (run === workflowRunId && step !== undefined) steps.push(step);
  }
  expect(steps.sort()).toEqual(['1', '2', '3', '4', 'plan 2', 'plan 3']);
  // After the end nothing is delivered, so the rest of the function runs once.
  expect(results).toHaveLength(1);
});
