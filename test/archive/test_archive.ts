import { afterAll, beforeEach, expect } from 'vitest';
import { readRows } from '../../functions/archive/parquet.ts';
import { type Service, service } from '../http/service.ts';
import {
  closeSegments,
  dropExpiredSegments,
  segmentNumbers,
  startNextSegment,
} from '../sql/kernel/segment/segments.ts';
import { complete, drain, leaseOf } from '../sql/verbs.ts';
import { MemoryBucket } from './bucket.ts';
import { allTasks, passAllRetentions, twoDays } from './two_days.ts';

/** The running test's Worker with a bucket, and its database. */
export let tock: Service;
export let bucket: MemoryBucket;
const used: Service[] = [];

/** Gives each test of a file a Worker, a database and a bucket. */
export function archivePerTest(): void {
  beforeEach(async () => {
    bucket = new MemoryBucket();
    tock = await anotherWorker({ ARCHIVE: bucket });
  });
  afterAll(() => Promise.all(used.map(({ database }) => database.drop())));
}

export async function anotherWorker(env = {}): Promise<Service> {
  const made = await service(env);
  used.push(made);
  return made;
}

export const enableArchive = () => tock.send('PUT /v1/archive', { body: { enabled: true } });
export const step = (body = {}) => tock.send('POST /v1/archive/step', { body });
export const task = (id: string) => tock.send(`GET /v1/tasks/${id}`);
export const archiveState = async () => (await tock.send('GET /v1/archive')).body;

/** Takes archive steps until nothing is left to do. */
export async function archive(body = {}): Promise<void> {
  for (let n = 0; n < 500; n++) {
    const { status, body: answer, text } = await step(body);
    expect(status, text).toBe(200);
    if (!answer.more) return;
  }
  throw new Error('The archive had more to do after 500 steps.');
}

/** Ends the segment in use, and closes it once its tasks have ended. */
export async function endSegment(): Promise<void> {
  await startNextSegment(tock.owner);
  await closeSegments(tock.owner);
}

export const drop = () => dropExpiredSegments(tock.owner);
export const segments = () => segmentNumbers(tock.owner);

/** Archives all closed segments and drops them. */
export async function moveToArchive(body = {}): Promise<void> {
  await passAllRetentions(tock.owner);
  await enableArchive();
  await archive(body);
  await drop();
}

/** Completes all ready tasks of a queue. */
export async function completeAll(queue: string): Promise<void> {
  for (const runs of await drain(tock.owner, queue)) await complete(tock.owner, leaseOf(runs));
}

/** All rows in the bucket's files as text. The files themselves are compressed. */
export async function everythingStored(): Promise<string> {
  const files = await Promise.all([...bucket.objects.values()].map(readRows));
  return JSON.stringify(files);
}

/** The text of each task's answer by id; as text, because numbers may be larger than JavaScript's. */
export async function answers(ids: string[]): Promise<Map<string, string>> {
  const all = new Map<string, string>();
  for (const id of ids) {
    const reply = await task(id);
    expect(reply.status, id).toBe(200);
    all.set(id, reply.text);
  }
  return all;
}

/** Enables the archive where two days of history can be exported. Returns their tasks, and the answers about them. */
export async function enabledOverTwoDays() {
  const ids = await twoDays(tock.owner);
  const before = await answers(allTasks(ids));
  await passAllRetentions(tock.owner);
  await enableArchive();
  return { ids, before };
}
