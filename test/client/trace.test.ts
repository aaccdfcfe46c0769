import { expect, test } from 'vitest';
import { createTock, Fatal } from '../../client/index.ts';
import { noTasksDone, there, tock, useClientService } from './service.ts';

useClientService();

const spanOf = (n: number) =>
  `00-4bf92f3577b34da6a3ce929d0e0e4736-${String(n).padStart(16, '0')}-01`;

test('handlers get the trace of the enqueue, the same at each attempt', async () => {
  let calls = 0;
  const headers = () => ({ traceparent: spanOf(++calls), authorization: 'Bearer of-nobody' });
  const traced = createTock({ ...there.options, headers });
  there.fate('lost', 'refused', 'fine');
  await traced.enqueue('traced', 1);
  expect(calls).toBe(1);
  await traced.enqueueMany('traced', [{ payload: 2 }, { payload: 3 }]);
  const own = { traceparent: spanOf(99), tracestate: 'a=1', baggage: 'b=2' };
  await traced.enqueue('traced', 4, { headers: own });
  const seen: unknown[] = [];
  const handler = (task: { payload: unknown }, { trace }: { trace: object }) =>
    void seen.push([task.payload, trace]);
  await traced.work('traced', handler, { until: 'empty' });
  expect(seen).toEqual([
    [1, { traceparent: spanOf(1) }],
    [2, { traceparent: spanOf(2) }],
    [3, { traceparent: spanOf(2) }],
    [4, own],
  ]);
});

test("middleware gets the handler's result or error", async () => {
  const tasks = ['one', 'two', 'three'].map((payload) => ({ payload }));
  const ids = await tock.enqueueMany('around', tasks);
  const seen: unknown[] = [];
  const handler = ({ payload }: { payload: unknown }) => {
    if (payload === 'two') throw new Fatal('two');
    return payload;
  };
  const worked = await tock.work('around', handler, {
    until: 'empty',
    async middleware(task, run) {
      if (task.payload === 'three') throw new Fatal('not even begun');
      try {
        return { within: await run() };
      } catch (error) {
        seen.push([task.id, error]);
        throw error;
      }
    },
  });
  expect(worked).toEqual({ ...noTasksDone, done: 1, failed: 2 });
  expect(seen).toEqual([[ids[1], new Fatal('two')]]);
  expect(await Promise.all(ids.map((id) => tock.task(id)))).toMatchObject([
    { result: { within: 'one' } },
    { state: 'dead', error: { message: 'two' } },
    { state: 'dead', error: { message: 'not even begun' } },
  ]);
});
