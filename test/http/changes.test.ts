import { expect, test } from 'vitest';
import { fileService } from './file_service.ts';

const tock = fileService();
let count = 0;
const newQueue = () => `change${++count}`;

const patch = (id: string, body: object) => tock.send(`PATCH /v1/tasks/${id}`, { body });
const cancel = (id: string) => tock.post(`tasks/${id}/cancel`);

/** Creates a task that is done and one that is dead. */
async function ended() {
  const queue = newQueue();
  const [done, dead] = await tock.add(queue, { payload: 'a' }, { payload: 'b' });
  const { lease } = await tock.claim(queue, { limit: 2 });
  await tock.post(`leases/${lease}/fail`, { failures: [{ id: dead, fatal: true, error: 'e' }] });
  await tock.post(`leases/${lease}/complete`, { results: [{ id: done, result: 'r' }] });
  return { queue, done, dead };
}

test('an ended task is neither cancelled nor changed, and the answer has its state', async () => {
  const { done, dead } = await ended();
  for (const [id, state] of [
    [done, 'done'],
    [dead, 'dead'],
  ]) {
    for (const refused of [await cancel(id), await patch(id, { priority: 0 })]) {
      expect(refused.body).toMatchObject({
        status: 409,
        type: '/errors/TK409',
        detail: expect.stringContaining(state),
        field: 'id',
        hint: expect.stringContaining("while the queue's retention keeps it"),
      });
    }
    expect(await tock.task(id)).toMatchObject({ state });
  }
});

test('a payload changes to null too, and to numbers with all their digits', async () => {
  const [first, second] = await tock.add(newQueue(), { payload: 1 }, { payload: 2 });
  await patch(first, { payload: null });
  expect((await tock.task(first)).payload).toBeNull();
  const raw = '{"payload": {"n": 12345678901234567890.10}}';
  expect(await tock.send(`PATCH /v1/tasks/${second}`, { raw })).toMatchObject({ status: 200 });
  expect((await tock.send(`GET /v1/tasks/${second}`)).text).toContain('12345678901234567890.10');
});

test('the data of an ended task is erased, and the erasure of another task is refused', async () => {
  const { queue, done, dead } = await ended();
  const erase = (id: string, key = tock.key) =>
    tock.send(`DELETE /v1/tasks/${id}/payload`, { key });
  expect(await erase(done)).toMatchObject({ status: 200, body: { erased: expect.any(Number) } });
  expect(await tock.task(done)).toMatchObject({ state: 'done', payload: null, result: null });
  expect(await erase(dead, await tock.makeKey(['admin'], [queue]))).toMatchObject({ status: 200 });
  expect(await tock.task(dead)).toMatchObject({ state: 'dead', payload: null, error: null });
  const [id] = await tock.add(queue, { payload: 'kept' });
  expect(await erase(id)).toMatchObject({ status: 409, body: { hint: expect.any(String) } });
  expect((await tock.task(id)).payload).toBe('kept');
});

test('cancel, change and erase answer 404 for an unknown id', async () => {
  const id = '9223372036854775807';
  const erased = await tock.send(`DELETE /v1/tasks/${id}/payload`);
  const replies = [await patch(id, { priority: 1 }), await cancel(id), erased];
  expect(replies.map(({ status }) => status)).toEqual([404, 404, 404]);
});
