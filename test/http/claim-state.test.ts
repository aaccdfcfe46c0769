import { expect, test } from 'vitest';
import { fileService } from './file_service.ts';

const tock = fileService();

test('the state of a claim tells busy streams from an empty queue', async () => {
  await tock.add('busy', {}, {});
  const other = await tock.database.connect();
  await other.query('begin');
  await other.query("select lease from tock.claim(p_queue => 'busy')");
  expect(await tock.claim('busy')).toMatchObject({ lease: null, state: 'busy' });
  await other.query('rollback');
  expect(await tock.claim('busy')).toMatchObject({ state: 'found' });
});

/** Enqueues `cancelled` tasks and cancels them, then enqueues one more task. */
async function behind(queue: string, cancelled: number): Promise<void> {
  for (let left = cancelled; left > 0; left -= 5000) {
    const ids = await tock.add(queue, ...Array(Math.min(left, 5000)).fill({}));
    await tock.post('tasks/cancel', { ids });
  }
  await tock.add(queue, { payload: 'behind' });
}

test('a claim that only skipped cancelled runs has the state "passing", and a waiting one continues', async () => {
  await behind('passed', 20_000);
  const passing = await tock.claim('passed');
  expect(passing).toMatchObject({ lease: null, state: 'passing', retry_after_seconds: 0 });
  await behind('waited', 25_000);
  const from = tock.statements.length;
  const answer = await tock.claim('waited', { wait_seconds: 30 });
  expect(answer).toMatchObject({ state: 'found', tasks: [{ payload: 'behind' }] });
  expect(tock.statements.length - from).toBeGreaterThan(2);
});

test('a claim at a limit has the state "limited" and says when to retry', async () => {
  await tock.send('PUT /v1/queues/few', { body: { max_running: 1 } });
  await tock.send('PUT /v1/queues/slow', { body: { rate_limit: 1, rate_seconds: 600 } });
  for (const [queue, least, most] of [
    ['few', 1, 1],
    ['slow', 500, 600],
  ] as const) {
    await tock.add(queue, {}, {});
    expect((await tock.claim(queue, { limit: 2 })).tasks).toHaveLength(1);
    const limited = await tock.claim(queue);
    expect(limited).toMatchObject({ lease: null, tasks: [], state: 'limited' });
    expect(limited.retry_after_seconds).toBeGreaterThanOrEqual(least);
    expect(limited.retry_after_seconds).toBeLessThanOrEqual(most);
  }
  const slow = await tock.send('GET /v1/queues/slow/limits');
  expect(slow.body).toMatchObject({ queue: 'slow', rate_limit: 1, rate_burst: 1, running: null });
  expect(slow.body.level).toBeLessThan(1);
  const all = (await tock.send('GET /v1/limits')).body.limits;
  expect(all).toMatchObject([{ queue: 'few', max_running: 1, running: 1, level: null }, {}]);
  const reset = await tock.send('POST /v1/queues/slow/limits/reset');
  expect(reset.body).toMatchObject({ queue: 'slow', level: 1 });
  expect(await tock.claim('slow')).toMatchObject({ state: 'found' });
  for (const route of ['GET /v1/queues/busy/limits', 'POST /v1/queues/busy/limits/reset'])
    expect(await tock.send(route)).toMatchObject({ status: 404 });
});

test('a waiting claim at a limit gets its task when another one has ended', async () => {
  await tock.send('PUT /v1/queues/next', { body: { max_running: 1 } });
  await tock.add('next', {}, {});
  const first = await tock.claim('next');
  const from = tock.statements.length;
  const waiting = tock.claim('next', { wait_seconds: 30 });
  await expect.poll(() => tock.statements.length - from).toBeGreaterThan(2);
  await tock.post(`leases/${first.lease}/complete`);
  expect(await waiting).toMatchObject({ state: 'found', tasks: [{}] });
});
