import { expect, test } from 'vitest';
import { world } from '../qstash/world.ts';
import { client, serveAt, useWorkflow } from './world.ts';

useWorkflow();

const log: string[] = [];
const stateOf = async (workflowRunId: string) =>
  (await client.logs({ workflowRunId })).runs[0]?.workflowState;
const sleeping = (path: string) =>
  serveAt(path, async (context) => {
    await context.sleep('nap', 60);
    await context.run('after', () => void log.push(path));
  });

test('a cancelled run does no more step, by its id, its URL or all at once', async () => {
  const [one, many] = [await sleeping('/one'), await sleeping('/many')];
  const single = await client.trigger({ url: one });
  const batch = await client.trigger([{ url: many }, { url: many }, { url: many, label: 'x' }]);
  await world.deliver();
  expect(await client.cancel(single.workflowRunId)).toEqual({ cancelled: 1 });
  expect(await client.cancel(single.workflowRunId)).toEqual({ cancelled: 0 });
  expect(await client.cancel({ filter: { label: 'x' } })).toEqual({ cancelled: 1 });
  const start = { workflowUrlStartingWith: `${world.receiver}/ma` };
  expect(await client.cancel({ filter: { workflowUrl: `${world.receiver}/ma` } })).toEqual({
    cancelled: 0,
  });
  expect(await client.cancel({ filter: start })).toEqual({ cancelled: 2 });
  expect(await client.cancel({ all: true })).toEqual({ cancelled: 0 });
  await world.deliverLater();
  expect(log).toEqual([]);
  for (const { workflowRunId } of [single, ...batch])
    expect(await stateOf(workflowRunId)).toBe('RUN_CANCELED');
});

test('a run that cancels itself, or is cancelled during a step, ends with that step', async () => {
  const itself = await serveAt('/itself', async (context) => {
    await context.run('first', () => 1);
    await context.cancel();
    await context.run('second', () => void log.push('second'));
  });
  const own = await client.trigger({ url: itself });
  const during = await serveAt('/during', async (context) => {
    await context.run('cancelled', () => client.cancel(context.workflowRunId));
    await context.run('next', () => void log.push('next'));
  });
  const other = await client.trigger({ url: during });
  await world.deliver();
  await world.deliverLater();
  expect(log).toEqual([]);
  expect(await stateOf(own.workflowRunId)).toBe('RUN_CANCELED');
  expect(await stateOf(other.workflowRunId)).toBe('RUN_CANCELED');
});

test('a run has its id alone: a second trigger with it adds nothing', async () => {
  const url = await sleeping('/twice');
  const ids = [
    await client.trigger({ url, workflowRunId: 'once' }),
    await client.trigger({ url, workflowRunId: 'once' }),
  ];
  expect(ids).toEqual([{ workflowRunId: 'wfr_once' }, { workflowRunId: 'wfr_once' }]);
  await world.deliver();
  await world.deliverLater();
  expect(log.splice(0)).toEqual(['/twice']);
});
