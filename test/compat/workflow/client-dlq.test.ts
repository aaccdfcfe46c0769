import { expect, test } from 'vitest';
import { world } from '../qstash/world.ts';
import { client, serveAt, useWorkflow } from './world.ts';

useWorkflow();

test('a failed run is resumed at its failed step, or restarted as another run', async () => {
  const log: string[] = [];
  let broken = true;
  const url = await serveAt<string>('/dead', async (context) => {
    const { workflowRunId } = context;
    const first = await context.run('first', () => {
      log.push(`first ${context.requestPayload}`);
      return 'kept';
    });
    await context.run('second', () => {
      if (broken) throw new Error('broken');
      log.push(`second ${first}`);
    });
    await context.run('third', () => void log.push(`third of ${workflowRunId}`));
  });
  const trigger = { url, body: 'payload', retries: 0, label: 'orders' };
  const { workflowRunId } = await client.trigger(trigger);
  await world.deliver();
  const { messages } = await client.dlq.list({ filter: { label: 'orders' } });
  expect(messages).toMatchObject([
    { workflowRunId, workflowUrl: url, responseStatus: 500, workflowCreatedAt: expect.any(Number) },
  ]);
  const plain = await world.qstash.dlq.listMessages();
  expect(plain.messages).toEqual([]);
  broken = false;
  const dlqId = messages[0]?.dlqId ?? '';
  const restarted = await client.dlq.restart(dlqId);
  const other = restarted.workflowRuns[0]?.workflowRunId ?? '';
  expect(other).not.toBe(workflowRunId);
  expect(log.splice(0)).toEqual(['first payload']);
  await world.deliver();
  expect(log.splice(0)).toEqual(['first payload', 'second kept', `third of ${other}`]);
  const resumed = await client.dlq.resume([dlqId]);
  expect(resumed.workflowRuns).toMatchObject([{ workflowRunId }]);
  await world.deliver();
  expect(log).toEqual(['second kept', `third of ${workflowRunId}`]);
  expect((await client.dlq.list()).messages).toEqual([]);
  const { runs } = await client.logs({ filter: { label: 'orders' } });
  expect(runs).toMatchObject([
    { workflowRunId: other, workflowState: 'RUN_SUCCESS' },
    { workflowRunId, workflowState: 'RUN_SUCCESS', label: 'orders' },
  ]);
});

test('of parallel steps the failed one alone is resumed', async () => {
  const log: string[] = [];
  let broken = true;
  const url = await serveAt('/parallel', async (context) => {
    const all = await Promise.all(
      ['a', 'b', 'c'].map((name) =>
        context.run(name, () => {
          if (broken && name === 'b') throw new Error('broken');
          log.push(name);
          return name;
        }),
      ),
    );
    await context.run('end', () => void log.push(all.join('')));
  });
  await client.trigger({ url, retries: 0 });
  await world.deliver();
  expect(log.splice(0).sort()).toEqual(['a', 'c']);
  broken = false;
  await client.dlq.resume({ all: true });
  await world.deliver();
  expect(log).toEqual(['b', 'abc']);
});

test('a failed call of a failure function is made again, and dead letters are deleted', async () => {
  const calls: string[] = [];
  const url = await serveAt(
    '/function',
    async (context) => {
      await context.run('bad', () => {
        throw new Error('bad');
      });
    },
    {
      failureFunction: async ({ failResponse }) => {
        calls.push(failResponse);
        if (calls.length === 1) throw new Error('the function fails too');
      },
    },
  );
  await client.trigger({ url, retries: 0, label: 'function' });
  await world.deliver();
  const { messages } = await client.dlq.list({ filter: { label: 'function' } });
  expect(messages).toHaveLength(1);
  const dlqId = messages[0]?.dlqId ?? '';
  await client.dlq.retryFailureFunction({ dlqId });
  await world.deliver();
  expect(calls).toEqual(['bad', 'bad']);
  expect(await client.dlq.delete({ filter: { label: 'function' } })).toMatchObject({ deleted: 1 });
  expect((await client.dlq.list({ filter: { label: 'function' } })).messages).toEqual([]);
});
