import { expect, test } from 'vitest';
import { epochs, retain } from '../sql/history.ts';
import { value } from '../sql/support.ts';
import { allTasks, longAgo, secret, twoDays } from './days.ts';
import {
  answers,
  archive,
  archiveEach,
  bucket,
  everythingStored,
  on,
  standing,
  step,
  task,
  tock,
} from './world.ts';

archiveEach();

test.each(['refuse', 'cut', 'other', 'swallow', 'lost', 'late'] as const)(
  'a store that does wrong (%s) is found out, and nothing is dropped for it',
  async (fault) => {
    const ids = await twoDays(tock.owner);
    const before = await answers(allTasks(ids));
    await longAgo(tock.owner);
    await on();
    bucket.fault = fault;
    const failed = await step();
    expect(failed.status).toBeGreaterThanOrEqual(500);
    const { failures, last_error, files } = await standing();
    expect([failures, files, typeof last_error]).toEqual([1, 0, 'string']);
    const findings = (await tock.send('GET /v1/doctor')).body.findings;
    expect(findings).toContainEqual(expect.objectContaining({ finding: 'the archive fails' }));
    await retain(tock.owner);
    expect(await epochs(tock.owner)).toContain(1);
    await archive();
    await retain(tock.owner);
    expect(await epochs(tock.owner)).not.toContain(1);
    expect(await answers(allTasks(ids))).toEqual(before);
    // What nobody recorded is taken away.
    await archive();
    expect(bucket.objects.size).toBe((await standing()).files);
  },
);

const anHourPasses = () =>
  tock.owner.query("update tock.archive_objects set noted_at = noted_at - interval '61 minutes'");

test('a put that was given up and arrives all the same is taken away', async () => {
  await twoDays(tock.owner);
  await longAgo(tock.owner);
  await on();
  bucket.fault = 'late';
  expect((await step()).status).toBe(503);
  await archive();
  bucket.land();
  const { files } = await standing();
  expect(bucket.objects.size).toBe(files + 1);
  await archive();
  expect(bucket.objects.size).toBe(files + 1);
  await anHourPasses();
  await archive();
  expect(bucket.objects.size).toBe(files);
  expect(await value(tock.owner, 'select count(*)::int from tock.archive_objects')).toBe(0);
});

test('what can be neither deleted nor erased keeps nothing else from its way', async () => {
  const ids = await twoDays(tock.owner);
  await longAgo(tock.owner);
  await on();
  // A part of the first epoch; its file is locked, and so is what is to be deleted.
  expect((await step({ rows: 11 })).status).toBe(200);
  for (const path of bucket.objects.keys()) bucket.locked.add(path);
  await tock.owner.query(
    "insert into tock.archive_objects (path, state, epoch, part) select path || '.old', 'unwanted', 1, 1 from tock.archived_files",
  );
  for (const path of [...bucket.locked]) bucket.locked.add(`${path}.old`);
  for (const [id, queue] of [
    [ids.done, 'shop'],
    [ids.waited, 'slow'],
  ])
    await tock.owner.query('select tock.note_erasure($1, $2)', [id, queue]);
  for (let n = 0; n < 50; n++) if ((await step()).status !== 200) break;
  expect(await standing()).toMatchObject({ waiting: 0, exported: 2, erasures_pending: 1 });
  const { failures, last_error, objects_unwanted } = await standing();
  // What was noted for the file that can't be rewritten is taken away by the next step.
  expect(objects_unwanted).toBe(2);
  expect([failures > 1, last_error]).toEqual([true, expect.stringContaining('is locked')]);
  bucket.locked.clear();
  await archive();
  expect(await standing()).toMatchObject({ failures: 0, objects_unwanted: 0, erasures_pending: 0 });
});

test('two who step at once archive each run once', async () => {
  const ids = await twoDays(tock.owner);
  const before = await answers(allTasks(ids));
  await longAgo(tock.owner);
  await on();
  const one = async () => {
    for (let more = true; more; ) {
      const { status, body, text } = await step({ rows: 5 });
      expect(status, text).toBe(200);
      more = body.more;
    }
  };
  await Promise.all([one(), one(), one()]);
  await archive();
  const runs = await value(
    tock.owner,
    'select count(*)::int from tock.runs where position < (select max(end_position) from tock.archives)',
  );
  expect((await standing()).rows).toBe(runs);
  await retain(tock.owner);
  expect(await answers(allTasks(ids))).toEqual(before);
  await archive();
  expect(bucket.objects.size).toBe((await standing()).files);
});

/** A statement of a step is done, and its answer lost: what comes after it isn't. */
test.each(['tock.archive_part', 'tock.archived(', 'tock.archive_rewritten', 'tock.archive_erased'])(
  'an answer of %s that is lost harms nothing',
  async (verb) => {
    const ids = await twoDays(tock.owner);
    await longAgo(tock.owner);
    await on();
    if (/rewritten|erased/.test(verb)) {
      await archive({ rows: 20 });
      await retain(tock.owner);
      await tock.send(`DELETE /v1/tasks/${ids.done}/payload`);
    }
    tock.loseAnswer(verb);
    expect((await step({ rows: 20 })).status).toBeGreaterThanOrEqual(500);
    await archive({ rows: 20 });
    await tock.send(`DELETE /v1/tasks/${ids.done}/payload`);
    await tock.send(`DELETE /v1/tasks/${ids.dead}/payload`);
    await archive();
    await retain(tock.owner);
    await archive();
    expect(await everythingStored()).not.toContain(secret);
    expect((await task(ids.retried as string)).body.runs).toHaveLength(3);
    // What was left over in the middle is given up after an hour.
    await tock.owner.query("update tock.archive_objects set noted_at = now() - interval '2 hours'");
    await archive();
    expect(bucket.objects.size).toBe((await standing()).files);
  },
);

test('a task that is erased between a part and its record is not recorded as it was', async () => {
  const ids = await twoDays(tock.owner);
  await longAgo(tock.owner);
  await on();
  bucket.put = async (key, bytes) => {
    bucket.objects.set(key, bytes.slice());
    await tock.owner.query('select tock.erase($1)', [ids.done]);
  };
  expect((await step()).body).toMatchObject({ more: true, rows: 0 });
  await archive();
  await archive();
  await retain(tock.owner);
  expect((await task(ids.done as string)).body).toMatchObject({ payload: null, result: null });
});
