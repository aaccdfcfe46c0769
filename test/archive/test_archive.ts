import { afterAll, beforeEach, expect } from 'vitest';
import { readRows } from '../../functions/archive/parquet.ts';
import { type Service, service } from '../http/service.ts';
import { MemoryBucket } from './bucket.ts';

/** Of the test that runs: a Tock of its own, whose Worker has a bucket. */
export let tock: Service;
export let bucket: MemoryBucket;
const used: Service[] = [];

/** Each test of a file has these. */
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

/** Steps until nothing is left; what refused meanwhile is tried again. */
export async function archive(body = {}): Promise<void> {
  for (let n = 0; n < 500; n++) {
    const { status, body: said, text } = await step(body);
    expect(status, text).toBe(200);
    if (!said.more) return;
  }
  throw new Error('It does not come to an end.');
}

/** All that can be read out of the bucket, as text: Parquet is compressed. */
export async function everythingStored(): Promise<string> {
  const files = await Promise.all([...bucket.objects.values()].map(readRows));
  return JSON.stringify(files);
}

/** How tasks are answered, by id: with their text, as numbers of any size count. */
export async function answers(ids: string[]): Promise<Map<string, string>> {
  const all = new Map<string, string>();
  for (const id of ids) {
    const reply = await task(id);
    expect(reply.status, id).toBe(200);
    all.set(id, reply.text);
  }
  return all;
}
