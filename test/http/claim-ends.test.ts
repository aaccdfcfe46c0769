import { expect, test } from 'vitest';
import { fileService } from './file_service.ts';

const tock = fileService();

async function claimed(queue: string, count = 1) {
  await tock.add(queue, ...Array.from({ length: count }, (_, n) => ({ payload: n + 1 })));
  return tock.claim(queue);
}
const stateOf = async (id: string) => (await tock.task(id)).state;

test('a claim ends leases first, in one statement', async () => {
  const { lease, tasks, ...more } = await claimed('one', 2);
  expect(more).not.toHaveProperty('ended');
  const from = tock.statements.length;
  const raw = `{"ends": [{"lease": "${lease}", "results": [{"id": "${tasks[0].id}", "result": 12345678901234567890}]}]}`;
  const next = await tock.send('POST /v1/queues/one/claim', { raw });
  expect(tock.statements.length - from).toBe(1);
  expect(next.body).toMatchObject({
    state: 'found',
    tasks: [{ payload: 2 }],
    ended: [{ lease, completed: 1, failed: 0, dead: 0, refused: [], lost: false }],
  });
  const result = await tock.owner.query('select result::text from tock.task($1)', [tasks[0].id]);
  expect(result.rows).toEqual([{ result: '12345678901234567890' }]);
});

test('a waiting claim ends its leases at once, and answers with what it ended', async () => {
  const { lease, tasks } = await claimed('wait');
  const waiting = tock.claim('wait', { wait_seconds: 30, ends: [{ lease }] });
  await expect.poll(() => stateOf(tasks[0].id)).toBe('done');
  await tock.add('wait', { payload: 'late' });
  expect(await waiting).toMatchObject({
    tasks: [{ payload: 'late' }],
    ended: [{ lease, completed: 1 }],
  });
});

test('a key for another queue ends nothing and claims nothing', async () => {
  const { lease, tasks } = await claimed('mine');
  await tock.add('other');
  const key = await tock.makeKey(['claim'], ['other']);
  const foreign = await tock.post('queues/other/claim', { ends: [{ lease }] }, key);
  expect(foreign).toMatchObject({ status: 403 });
  expect(await stateOf(tasks[0].id)).toBe('running');
  expect((await tock.post('queues/other/claim', {}, key)).body.tasks).toHaveLength(1);
});

test('a key that may not enqueue adds no tasks by a completion in a claim', async () => {
  const { lease, tasks } = await claimed('spawns');
  const results = [{ id: tasks[0].id, spawn: { tasks: [{ payload: 'child' }] } }];
  const key = await tock.makeKey(['claim']);
  const answer = await tock.post('queues/spawns/claim', { ends: [{ lease, results }] }, key);
  expect(answer).toMatchObject({ status: 403 });
  expect(await stateOf(tasks[0].id)).toBe('running');
});

test('a claim with a mistake in its ends is refused, and ends nothing', async () => {
  const { lease, tasks } = await claimed('wrong');
  for (const [field, ends] of [
    ['ends[0].lease', [{ lease: 'x' }]],
    ['ends[0].results[0].id', [{ lease, results: [{ id: 'x' }] }]],
    ['ends', []],
  ]) {
    const refused = await tock.post('queues/wrong/claim', { ends });
    expect(refused).toMatchObject({ status: 422, body: { field } });
  }
  expect(await stateOf(tasks[0].id)).toBe('running');
});
