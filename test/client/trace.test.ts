import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTock, Fatal } from '../../client/index.ts';
import { createTestTock } from '../../client/testing.ts';
import { type ClientService, noTasksDone, startClientService } from './service.ts';

let there: ClientService;
beforeAll(async () => {
  there = await startClientService();
});
afterAll(() => there.database.drop());

const id = '4bf92f3577b34da6a3ce929d0e0e4736';
const spanOf = (n: number) => `00-${id}-${String(n).padStart(16, '0')}-01`;

test('handlers get the trace of the enqueue, the same at each attempt', async () => {
  let calls = 0;
  const headers = () => ({ traceparent: spanOf(++calls), authorization: 'Bearer of-nobody' });
  const tock = createTock({ ...there.options, headers });
  there.fate('lost', 'refused', 'fine');
  await tock.enqueue('traced', 1);
  expect(calls).toBe(1);
  await tock.enqueueMany('traced', [{ payload: 2 }, { payload: 3 }]);
  const own = { traceparent: spanOf(99), tracestate: 'a=1', baggage: 'b=2' };
  await tock.enqueue('traced', 4, { headers: own });
  const seen: unknown[] = [];
  await tock.work('traced', ({ payload }, { trace }) => void seen.push([payload, trace]), {
    until: 'empty',
  });
  expect(seen).toEqual([
    [1, { traceparent: spanOf(1) }],
    [2, { traceparent: spanOf(2) }],
    [3, { traceparent: spanOf(2) }],
    [4, own],
  ]);
});

test.each(['the database', 'memory'])(
  "middleware gets the handler's result or error in %s",
  async (where) => {
    const tock = where === 'memory' ? createTestTock() : createTock(there.options);
    const ids = await tock.enqueueMany(
      'around',
      [1, 2, 3].map((payload) => ({ payload })),
    );
    const seen: unknown[] = [];
    const worked = await tock.work(
      'around',
      ({ payload }) => {
        if (payload === 2) throw new Fatal('two');
        return { payload };
      },
      {
        until: 'empty',
        async middleware(task, run) {
          if (task.payload === 3) throw new Fatal('not even begun');
          try {
            return { within: await run() };
          } catch (error) {
            seen.push([task.id, error]);
            throw error;
          }
        },
      },
    );
    expect(worked).toEqual({ ...noTasksDone, done: 1, failed: 2 });
    expect(seen).toEqual([[ids[1], new Fatal('two')]]);
    const [first, second, third] = await Promise.all(ids.map((taskId) => tock.task(taskId)));
    expect(first?.result).toEqual({ within: { payload: 1 } });
    expect(second).toMatchObject({ state: 'dead', error: { message: 'two' } });
    expect(third).toMatchObject({ state: 'dead', error: { message: 'not even begun' } });
  },
);
