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

test('a run with several failed steps is restarted once, also by a repeated call', async () => {
  const starts: string[] = [];
  const url = await serveAt('/restarted', async (context) => {
    const { workflowRunId } = context;
    await context.run('start', () => void starts.push(workflowRunId));
    await Promise.all(
      ['a', 'b'].map((name) =>
        context.run(name, () => {
          throw new Error(name);
        }),
      ),
    );
  });
  await client.trigger({ url, retries: 0, label: 'restarted' });
  await world.deliver();
  const filter = { label: 'restarted' };
  expect((await client.dlq.list({ filter })).messages).toHaveLength(2);
  const restart = async () => (await client.dlq.restart({ filter })).workflowRuns;
  const first = await restart();
  expect(first).toMatchObject([{ workflowRunId: expect.stringMatching(/^wfr_[0-9a-f]{32}$/) }]);
  // The answer was lost.
  expect(await restart()).toEqual(first);
  starts.length = 0;
  await world.deliver();
  expect(starts).toEqual([first[0]?.workflowRunId]);
});

test('a first message that runs again belongs to its run', async () => {
  let broken = true;
  const log: string[] = [];
  const url = await serveAt('/first', async (context) => {
    if (broken) throw new Error('broken');
    await context.run('only', () => void log.push('only'));
  });
  const { workflowRunId } = await client.trigger({ url, retries: 0, label: 'first' });
  await world.deliver();
  broken = false;
  await client.dlq.resume({ filter: { label: 'first' } });
  await world.deliver();
  expect(log).toEqual(['only']);
  const { runs } = await client.logs({ filter: { label: 'first' } });
  expect(runs).toMatchObject([{ workflowRunId, workflowState: 'RUN_SUCCESS' }]);
  // Of a run that has ended, no message is delivered.
  const { body } = await world.tock.send('GET /v1/tasks?queue=qstash&limit=1000');
  const ids = [];
  for (const { id } of body.tasks) {
    const { payload, state } = (await world.tock.send(`GET /v1/tasks/${id}`)).body;
    const { run, kind } = payload?.qstash.workflow ?? {};
    if (run === workflowRunId && kind === 'init' && state === 'done') ids.push(id);
  }
  expect(ids).toHaveLength(1);
  const deliveries = world.at('/first').length;
  await world.tock.send('POST /v1/tasks/rerun', { body: { ids } });
  await world.deliver();
  expect(world.at('/first')).toHaveLength(deliveries);
});
