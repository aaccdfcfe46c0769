import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTock, Fatal, RetryIn, type Tock } from '../../client/index.ts';
import { type Way, way } from './service.ts';

let there: Way;
let tock: Tock;
let count = 0;
const queue = () => `work${++count}`;
const payloads = (n: number) => Array.from({ length: n }, (_, payload) => ({ payload }));

beforeAll(async () => {
  there = await way();
  tock = createTock(there.options);
});
afterAll(() => there.database.drop());

test('a worker does what there is, tells the results, and ends when the queue is empty', async () => {
  const q = queue();
  const ids = await tock.enqueueMany(q, payloads(3));
  const worked = await tock.work(q, (task) => ({ twice: Number(task.payload) * 2 }), {
    until: 'empty',
    worker: 'w',
  });
  expect(worked).toEqual({ done: 3, failed: 0, released: 0, cancelled: 0, lost: 0 });
  expect(await tock.task(ids[2] as string)).toMatchObject({
    state: 'done',
    result: { twice: 4 },
    runs: [{ worker: 'w' }],
  });
});

test('what a handler throws is its failure: tried again, later, or never', async () => {
  const q = queue();
  const [plain, later, never] = (await tock.enqueueMany(q, payloads(3))) as [
    string,
    string,
    string,
  ];
  const heard: unknown[] = [];
  const errors = [new TypeError('plain'), new RetryIn(3000, 'later'), new Fatal('never')];
  const worked = await tock.work(
    q,
    (task) => {
      throw errors[Number(task.payload)];
    },
    { until: 'empty', on_error: (error, task) => heard.push([error, task?.id]) },
  );
  expect(worked).toMatchObject({ failed: 3 });
  expect(heard).toEqual([
    [errors[0], plain],
    [errors[1], later],
    [errors[2], never],
  ]);
  const shown = await tock.task(plain);
  expect(shown).toMatchObject({
    state: 'waiting',
    runs: [{ error: { name: 'TypeError', message: 'plain', stack: expect.any(String) } }, {}],
  });
  expect(await tock.task(never)).toMatchObject({ state: 'dead', error: { name: 'Fatal' } });
  const far = Date.parse((await tock.task(later))?.run_at ?? '');
  expect(far - Date.parse(shown?.run_at ?? '')).toBeGreaterThan(2_000_000);
});
