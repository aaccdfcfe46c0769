import type pg from 'pg';
import { expect, vi } from 'vitest';
import {
  ageClosedSegments,
  closeSegments,
  startNextSegment,
  verifySegments,
} from '../sql/kernel/segment/segments.ts';
import {
  claim,
  complete,
  drain,
  enqueue,
  fail,
  leaseOf,
  makeDue,
  numberedTasks,
  promote,
  rows,
} from '../sql/verbs.ts';

export const secret = 'needle-in-the-hay';

/** Tasks with every kind of history, over two segments, all ended. Returns their ids by the kind. */
export async function twoDays(client: pg.Client): Promise<Record<string, string>> {
  const addTask = async (queue: string, task: object) =>
    (await enqueue(client, queue, [task]))[0] as string;
  const take = async (queue: string, limit = 1) =>
    leaseOf(await claim(client, queue, { limit, worker: `w-${queue}` }));
  const ids: Record<string, string> = {};
  await client.query(`select tock.put_queue('shop', '{"backoff_jitter": 0}')`);

  ids.done = await addTask('shop', {
    payload: { text: `naïve 😀 "quoted" \\ ${secret}`, n: '@@' },
    tenant: 'acme',
    headers: { 'x-note': secret },
  });
  await complete(client, await take('shop'), [{ id: ids.done, result: { sum: 1.5, all: secret } }]);
  ids.plain = await addTask('shop', { payload: 7 });
  await complete(client, await take('shop'));
  ids.dead = await addTask('bills', { payload: null, max_attempts: 1, priority: 2 });
  await fail(client, await take('bills'), { error: { message: `the bank is closed ${secret}` } });
  ids.cancelled = await addTask('shop', { payload: 'cancelled' });
  await client.query('select tock.cancel(array[$1::bigint])', [ids.cancelled]);
  await drain(client, 'shop');
  ids.delayed = await addTask('later', {
    payload: 'later',
    delay_seconds: 3600,
    unique_key: 'k-1',
  });
  await makeDue(client, 'later');
  await promote(client);
  await complete(client, await take('later'));
  ids.many = (await enqueue(client, 'many', numberedTasks(50)))[10] as string;
  for (const runs of await drain(client, 'many')) await complete(client, leaseOf(runs));
  // It fails in the first segment and is retried in the second.
  ids.retried = await addTask('slow', { payload: { big: 1 }, tenant: 'b' });
  await fail(client, await take('slow'), { error: 'first', retry_in_seconds: 3600 });
  ids.waited = await addTask('slow', { payload: 'waited', delay_seconds: 7200 });
  await startNextSegment(client);
  await makeDue(client, 'slow');
  await promote(client);
  for (let n = 0; n < 2; n++) {
    const lease = await take('slow');
    if (n === 0) await fail(client, lease, { error: 'second', retry_in_seconds: 0 });
    else await complete(client, lease);
  }
  for (const runs of await drain(client, 'slow')) await complete(client, leaseOf(runs));
  const again = await rows<{ rerun_id: string }>(
    client,
    'select rerun_id from tock.rerun(array[$1::bigint])',
    [ids.dead],
  );
  ids.rerun = again[0]?.rerun_id as string;
  await complete(client, await take('bills'));
  await startNextSegment(client);
  await closeSegments(client);
  await closeSegments(client);
  return ids;
}

/** Makes all retentions end, and verifies the segments. */
export async function passAllRetentions(client: pg.Client): Promise<void> {
  await ageClosedSegments(client, '60 days');
  await verifySegments(client);
}

export const allTasks = (ids: Record<string, string>) => [...new Set(Object.values(ids))];

/** The text of a task's answer. A busy machine may answer 503, so the call is repeated. */
export async function taskText(
  send: (route: string) => Promise<{ status: number; text: string }>,
  id: string,
): Promise<string> {
  const answered = async () => {
    const { status, text } = await send(`GET /v1/tasks/${id}`);
    expect(status, text).toBe(200);
    return text;
  };
  return vi.waitFor(answered, { timeout: 60_000 });
}
