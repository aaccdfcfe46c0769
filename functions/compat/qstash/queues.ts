import { refusal } from '../../http/problem.ts';
import type { CallTock } from '../adapter.ts';
import { done, expectOk, type Handler, json, readObject, unlessMissing } from './call.ts';
import { PUBLISHED, qstashName, tockQueue } from './names.ts';
import { allowedQueues } from './search.ts';

/** What a Tock queue of messages needs. An answer may take as long as the Worker's time allows. */
const shared = { push: { timeout_seconds: 300 }, max_payload_bytes: 4_194_304 };
/** A drop leaves running tasks; they may have ended at the next one. */
const MAX_DROPS = 3;

export type TockQueue = { push: object | null; max_payload_bytes: number };

/** Prepares a Tock queue for messages, unless it is prepared. */
export async function openQueue(tock: CallTock, queue: string): Promise<TockQueue> {
  const path = `/v1/queues/${queue}`;
  const existing = unlessMissing(await tock('GET', path));
  if (existing?.push) return existing;
  const settings = queue === PUBLISHED ? shared : { ...shared, concurrency_limit: 1 };
  return expectOk(await tock('PUT', path, settings));
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
    concurrency_limit: parallelism,
    ...(typeof paused === 'boolean' && { paused }),
  };
  await openQueue(call.tock, queue);
  expectOk(await call.tock('PUT', `/v1/queues/${queue}`, settings));
  return done();
};

export const getQueue: Handler = async ({ tock }, name = '') =>
  json(toQstash(name, expectOk(await tock('GET', `/v1/queues/${tockQueue(name)}`))));

export const listQueues: Handler = async ({ tock }) => {
  const allowed = await allowedQueues(tock);
  const all: string[] =
    allowed ??
    expectOk(await tock('GET', '/v1/queues')).queues.map((queue: { name: string }) => queue.name);
  const names = all.flatMap((queue) => qstashName(queue) ?? []);
  const answers = await Promise.all(
    names.map(async (name) => {
      const queue = unlessMissing(await tock('GET', `/v1/queues/${tockQueue(name)}`));
      return queue === null ? [] : [toQstash(name, queue)];
    }),
  );
  return json(answers.flat());
};

export const deleteQueue: Handler = async ({ tock }, name = '') => {
  const path = `/v1/queues/${tockQueue(name)}?force=true`;
  for (let n = 0; n < MAX_DROPS; n++)
    if (expectOk(await tock('DELETE', path)).dropped) return done();
  throw refusal(409, `A message of the queue ${name} is being delivered: delete it again.`);
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
