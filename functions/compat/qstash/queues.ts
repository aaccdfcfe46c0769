import { pause } from '../../../client/pause.ts';
import { refusal } from '../../http/problem.ts';
import type { CallTock } from '../adapter.ts';
import { expectOk } from '../calls.ts';
import { done, forEach, type Handler, json, readObject, unlessMissing } from './call.ts';
import { qstashName, tockQueue } from './names.ts';
import { qstashQueues } from './search.ts';

/** What a Tock queue of messages needs. An answer may take as long as the Worker's time allows. */
const shared = { push: { timeout_seconds: 300 }, max_payload_bytes: 4_194_304 };
/** The list of Tock does not have the parallelism, so each queue is read. */
const MAX_LISTED = 1000;
/** A drop leaves running tasks. They may have ended at the next one, after these milliseconds. */
const DROPS = [0, 100, 400, 1600];

export type TockQueue = { push: object | null; max_payload_bytes: number };

/** Prepares a Tock queue for messages. */
export const openQueue = async (tock: CallTock, queue: string): Promise<TockQueue> =>
  expectOk(await tock('PUT', `/v1/queues/${queue}`, shared));

/** The same, unless it is prepared. */
export async function readyQueue(tock: CallTock, queue: string): Promise<TockQueue> {
  const existing = unlessMissing(await tock('GET', `/v1/queues/${queue}`));
  return existing?.push ? existing : openQueue(tock, queue);
}

const toQstash = (name: string, queue: Record<string, number | string | boolean>) => ({
  name,
  parallelism: queue.concurrency_limit,
  lag: Number(queue.ready) + Number(queue.waiting) + Number(queue.running),
  paused: queue.paused,
  createdAt: Date.parse(String(queue.created_at)),
  updatedAt: Date.parse(String(queue.created_at)),
});

export const putQueue: Handler = async (call) => {
  const { queueName, parallelism = 1, paused } = await readObject(call);
  if (typeof queueName !== 'string') throw refusal(400, 'queueName: the name of the queue');
  if (!(Number.isInteger(parallelism) && Number(parallelism) >= 1 && Number(parallelism) <= 1000))
    throw refusal(400, 'parallelism: a whole number from 1 to 1000');
  const queue = tockQueue(queueName);
  const settings = {
    ...shared,
    concurrency_limit: parallelism,
    ...(typeof paused === 'boolean' && { paused }),
  };
  expectOk(await call.tock('PUT', `/v1/queues/${queue}`, settings));
  return done();
};

export const getQueue: Handler = async ({ tock }, name = '') =>
  json(toQstash(name, expectOk(await tock('GET', `/v1/queues/${tockQueue(name)}`))));

export const listQueues: Handler = async ({ tock }) => {
  const names = ((await qstashQueues(tock)) ?? []).flatMap(({ name }) => qstashName(name) ?? []);
  const queues = await forEach(names.slice(0, MAX_LISTED), async (name) => {
    const queue = unlessMissing(await tock('GET', `/v1/queues/${tockQueue(name)}`));
    return queue === null ? [] : [toQstash(name, queue)];
  });
  return json(queues.flat());
};

export const deleteQueue: Handler = async ({ tock }, name = '') => {
  const path = `/v1/queues/${tockQueue(name)}?force=true`;
  for (const ms of DROPS) {
    if (ms > 0) await pause(ms);
    if (expectOk(await tock('DELETE', path)).dropped) return done();
  }
  throw refusal(
    409,
    `The queue ${name} still has messages, or one is being delivered: delete it again.`,
  );
};

const setPaused =
  (paused: boolean): Handler =>
  async ({ tock }, name = '') => {
    const path = `/v1/queues/${tockQueue(name)}`;
    expectOk(await tock('GET', path));
    expectOk(await tock('PUT', path, { paused }));
    return done();
  };
export const pauseQueue = setPaused(true);
export const resumeQueue = setPaused(false);
