import { expect, test } from 'vitest';
import { createWorker } from '../../functions/worker.ts';
import type { Reply } from '../http/service.ts';
import { rows } from '../sql/verbs.ts';
import {
  anotherWorker,
  archive,
  archivePerTest,
  archiveState,
  bucket,
  drop,
  enableArchive,
  enabledOverTwoDays,
  segments,
  step,
  task,
  tock,
} from './test_archive.ts';
import { passAllRetentions, twoDays } from './two_days.ts';

archivePerTest();

test('a cron trigger archives by itself, and reports what failed', async () => {
  const { ids } = await enabledOverTwoDays();
  const worker = createWorker({ connect: tock.connect });
  const env = { ARCHIVE: bucket };
  bucket.fault = 'refuse';
  await expect(worker.scheduled({}, env)).rejects.toThrow('no space is left');
  await worker.scheduled({}, env);
  await drop();
  expect(await segments()).not.toContain(2);
  expect((await task(ids.done as string)).body).toMatchObject({ state: 'done' });
  expect(await archiveState()).toMatchObject({ waiting: 0, exported: 2, failures: 0 });
});

test('a Worker with a store enables the archive, unless it was disabled before', async () => {
  const ids = await twoDays(tock.owner);
  await passAllRetentions(tock.owner);
  const worker = createWorker({ connect: tock.connect });
  await worker.scheduled({}, { ARCHIVE: bucket });
  expect(await archiveState()).toMatchObject({ enabled: true, exported: 2 });
  await drop();
  expect((await task(ids.plain as string)).body).toMatchObject({ state: 'done' });
  await tock.send('PUT /v1/archive', { body: { enabled: false } });
  await worker.scheduled({}, { ARCHIVE: bucket });
  expect(await archiveState()).toMatchObject({ enabled: false });
});

test('a Worker with a manual archive does not enable it', async () => {
  const worker = createWorker({ connect: tock.connect });
  const env = { ARCHIVE: bucket, TOCK_ARCHIVE: 'manual' };
  await worker.scheduled({}, env);
  expect(await rows(tock.owner, 'select * from tock.archive')).toEqual([]);
  await enableArchive();
  await worker.scheduled({}, env);
  expect(await archiveState()).toMatchObject({ enabled: true, last_step_at: expect.any(String) });
});

test('an alarm archives when it is due, and is set again after a failure', async () => {
  await twoDays(tock.owner);
  await passAllRetentions(tock.owner);
  const kept = new Map<string, unknown>();
  let alarm: number | null = null;
  const storage = {
    getAlarm: async () => alarm,
    setAlarm: async (at: number) => {
      alarm = at;
    },
    deleteAlarm: async () => {
      alarm = null;
    },
    get: async (key: string) => kept.get(key),
    put: async (key: string, value: unknown) => void kept.set(key, value),
    delete: async (key: string) => kept.delete(key),
  };
  const { Alarm } = createWorker({ connect: tock.connect });
  const ring = () => new Alarm({ storage }, { ARCHIVE: bucket }).alarm();
  bucket.fault = 'refuse';
  await ring();
  expect(await archiveState()).toMatchObject({ enabled: true, failures: 1 });
  expect(alarm).toBeLessThan(Date.now() + 61_000);
  await ring();
  expect(await archiveState()).toMatchObject({ failures: 0, waiting: 0, exported: 2 });
});

test('with the archive disabled history is only dropped, and enabled again it is archived', async () => {
  const { ids } = await enabledOverTwoDays();
  await step({ rows: 10 });
  await tock.send('PUT /v1/archive', { body: { enabled: false } });
  expect((await step()).body).toMatchObject({ rows: 0 });
  await drop();
  expect(await segments()).not.toContain(1);
  expect((await task(ids.plain as string)).status).toBe(404);
  // The files that were already written do not belong to the archive any more, and are deleted.
  await archive();
  expect(bucket.objects.size).toBe(0);
});

test('without a store enabling the archive is refused with a hint', async () => {
  const bare = await anotherWorker();
  const refused: Reply = await bare.send('PUT /v1/archive', { body: { enabled: true } });
  expect(refused).toMatchObject({
    status: 409,
    body: { hint: expect.stringContaining('ARCHIVE') },
  });
  const half = await anotherWorker({ TOCK_ARCHIVE_URL: 'https://s3.example/bucket' });
  const odd = await half.send('PUT /v1/archive', { body: { enabled: true } });
  expect(odd.status).toBe(503);
  expect(odd.text).toContain('TOCK_ARCHIVE_KEY_ID');
  for (const body of [{ prefix: '../up' }, { prefix: '' }, { enabled: 1 }, { other: 1 }]) {
    expect((await tock.send('PUT /v1/archive', { body })).status).toBe(422);
  }
  expect(await rows(tock.owner, 'select * from tock.archive')).toEqual([]);
});
