import { beforeAll, expect, test, vi } from 'vitest';
import { value } from '../sql/verbs.ts';
import { conditionTimeout } from '../timeout.ts';
import { there, useConsumerWorker } from './served.ts';

useConsumerWorker();
let key: string;
beforeAll(async () => {
  key = await value(there.owner, "select key from tock.create_key('h', array['enqueue'])");
});

const timeout = { timeout: conditionTimeout };
const isHandOver = (text: string) => text.includes('tock.http_enqueue_and_claim(');
const isDone = (id: string) => async () => (await there.tock.task(id))?.state === 'done';
const started = (queue: string, id: string) =>
  vi.waitUntil(() => there.reports.includes(`/${queue}/${id}`), timeout);

/** The statements that the Worker sends from now on. */
function statements(): string[] {
  const sent: string[] = [];
  there.proxy.hears = { sent: (text) => void sent.push(text) };
  return sent;
}

/** Enqueues until a call finds the consumer free: the drain of an earlier task may not have ended yet. */
async function handedOver(queue: string, point = queue): Promise<{ id: string; sent: string[] }> {
  for (;;) {
    const sent = statements();
    let after: string[] = [];
    there.onTold((path) => {
      if (path.startsWith(`/${point}/`)) after = sent.slice(sent.findIndex(isHandOver));
    });
    const id = await there.tock.enqueue(queue, 1);
    await vi.waitUntil(isDone(id), timeout);
    if (sent.some(isHandOver)) return { id, sent: after };
  }
}

test('a task for a free consumer starts without a claim of its own', async () => {
  const { sent } = await handedOver('once', 'begun');
  // The consumer takes one task at a time, so it claims again when this one has ended. The texts have the parameters.
  const isOwnClaim = (text: string) => text.includes('tock.claim(') && text.includes('once');
  expect(sent.filter(isOwnClaim)).toEqual([]);
});

/** A call that is to claim for the consumer, and that an open transaction holds up at its unique key. */
async function heldUp<T>(
  unique_key: string,
  send: () => Promise<T>,
): Promise<{ answer: Promise<T> }> {
  for (;;) {
    await there.owner.query('begin');
    await there.owner.query("select tock.enqueue('once', $1)", [JSON.stringify([{ unique_key }])]);
    const sent = statements();
    const answer = send();
    const find = () => sent.find((text) => text.includes('tock.http_enqueue'));
    if (isHandOver((await vi.waitUntil(find, timeout)) ?? '')) return { answer };
    // The drain of an earlier task had not ended yet.
    await there.owner.query('rollback');
    await answer;
    await vi.waitUntil(async () => (await open('once')).length === 0, timeout);
  }
}

const open = async (queue: string) =>
  (await there.tock.tasks({ queue })).tasks.filter(({ state }) => state !== 'done');

test('tasks claimed for a consumer that another call has started meanwhile are given back', async () => {
  const late = await heldUp('late', () => there.tock.enqueue('once', 1, { unique_key: 'late' }));
  const ends: (() => void)[] = [];
  there.onTold((path) => {
    if (path.startsWith('/begun')) return new Promise<void>((resolve) => ends.push(resolve));
  });
  const early = await there.tock.enqueue('once', 2);
  await started('begun', early);
  await there.owner.query('rollback');
  const id = await late.answer;
  // It is ready again while the consumer is busy. A drain of all queues may take it at once.
  const isFree = async () =>
    there.reports.includes(`/begun/${id}`) || (await there.tock.task(id))?.state === 'ready';
  await vi.waitUntil(isFree, timeout);
  there.onTold(() => {});
  for (const end of ends) end();
  for (const ended of [early, id]) await vi.waitUntil(isDone(ended), timeout);
  expect(await there.tock.task(id)).toMatchObject({ lost: 0, attempt: 1 });
});

test('tasks claimed by a call whose client has left start all the same', async () => {
  const client = new AbortController();
  const { answer } = await heldUp('left', async () => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const init = { method: 'POST', headers, body: '{"unique_key": "left"}', signal: client.signal };
    await there.fetch('/v1/queues/once/tasks', init).catch(() => {});
  });
  client.abort();
  await answer;
  await there.owner.query('rollback');
  const find = async () => (await there.tock.tasks({ queue: 'once', unique_key: 'left' })).tasks[0];
  await vi.waitUntil(async () => (await find())?.state === 'done', timeout);
  expect(await there.tock.task((await find())?.id ?? '')).toMatchObject({ lost: 0 });
});

test('an enqueue that is refused leaves the consumer free', async () => {
  await handedOver('quick');
  const refused = there.tock.enqueue('quick', 1, { priority: 12 });
  await expect(refused).rejects.toMatchObject({ status: 422 });
  const { id } = await handedOver('quick');
  expect(there.reports).toContain(`/quick/${id}`);
});

test('nothing is claimed from a paused queue, and the task starts when it is resumed', async () => {
  await there.owner.query(`select tock.put_queue('quick', '{"paused": true}')`);
  const id = await there.tock.enqueue('quick', 1);
  expect((await there.tock.task(id))?.state).toBe('ready');
  await there.owner.query(`select tock.put_queue('quick', '{"paused": false}')`);
  await there.tock.enqueue('quick', 2);
  await started('quick', id);
  await vi.waitUntil(isDone(id), timeout);
});

const call = `select e.* from tock.http_enqueue_and_claim(p_key => $1, p_queue => $2, p_body => $3,
  p_request_id => $4, p_trace => null, p_limit => $5, p_lease_seconds => 60) e`;

test.for([1, 5])('the call claims up to %i tasks, and commits synchronously', async (limit) => {
  const queue = `direct-${limit}`;
  const body = { tasks: [{ payload: 1 }, { payload: 2 }] };
  await there.owner.query('begin');
  const { rows } = await there.owner.query(call, [key, queue, JSON.stringify(body), 'r', limit]);
  expect(await value(there.owner, 'show synchronous_commit')).toBe('on');
  await there.owner.query('commit');
  const { ids } = JSON.parse(rows[0].body);
  const { lease, tasks } = JSON.parse(rows[0].claimed);
  expect(tasks.map(({ id }: { id: string }) => id)).toEqual(ids.slice(0, limit));
  expect(lease).toMatch(/^[0-9a-f-]{36}$/);
  // A repetition adds nothing, and claims what is left.
  const again = (await there.owner.query(call, [key, queue, JSON.stringify(body), 'r', 5])).rows[0];
  expect(JSON.parse(again.body)).toEqual({ ids });
  const left = again.claimed === null ? [] : JSON.parse(again.claimed).tasks;
  expect(left).toHaveLength(2 - Math.min(limit, 2));
});
