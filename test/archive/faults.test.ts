import { expect, test } from 'vitest';
import { claim, complete, enqueue, fail, leaseOf, value, waitUntil } from '../sql/verbs.ts';
import {
  answers,
  archive,
  archivePerTest,
  archiveState,
  bucket,
  completeAll,
  drop,
  enabledOverTwoDays,
  endSegment,
  everythingStored,
  moveToArchive,
  segments,
  step,
  task,
  tock,
} from './test_archive.ts';
import { allTasks, secret } from './two_days.ts';

archivePerTest();

test.each(['refuse', 'cut', 'other', 'swallow', 'lost'] as const)(
  'a fault of the store (%s) is detected, and no segment is dropped',
  async (fault) => {
    const { ids, before } = await enabledOverTwoDays();
    bucket.fault = fault;
    const failed = await step();
    expect(failed.status).toBeGreaterThanOrEqual(500);
    const { failures, last_error, files } = await archiveState();
    expect([failures, files, typeof last_error]).toEqual([1, 0, 'string']);
    const findings = (await tock.send('GET /v1/doctor')).body.findings;
    expect(findings).toContainEqual(expect.objectContaining({ finding: 'the archive fails' }));
    await drop();
    expect(await segments()).toContain(1);
    await archive();
    await drop();
    expect(await segments()).not.toContain(1);
    expect(await answers(allTasks(ids))).toEqual(before);
    // Objects without a record are deleted.
    await archive();
    expect(bucket.objects.size).toBe((await archiveState()).files);
  },
);

const anHourPasses = () =>
  tock.owner.query("update tock.archive_objects set noted_at = noted_at - interval '61 minutes'");

test('an object that is stored after its put timed out is deleted', async () => {
  await enabledOverTwoDays();
  bucket.fault = 'late';
  expect((await step()).status).toBe(503);
  await archive();
  bucket.land();
  const { files } = await archiveState();
  expect(bucket.objects.size).toBe(files + 1);
  await archive();
  expect(bucket.objects.size).toBe(files + 1);
  await anHourPasses();
  await archive();
  expect(bucket.objects.size).toBe(files);
  expect(await value(tock.owner, 'select count(*)::int from tock.archive_objects')).toBe(0);
});

test('objects that cannot be deleted or erased do not block other work', async () => {
  const { ids } = await enabledOverTwoDays();
  // One file has a part of the first segment. It is locked, and so are the objects that must be deleted.
  expect((await step({ rows: 11 })).status).toBe(200);
  for (const path of bucket.objects.keys()) bucket.locked.add(path);
  await tock.owner.query(
    "insert into tock.archive_objects (path, state, segment, part) select path || '.old', 'unwanted', 1, 1 from tock.archived_files",
  );
  for (const path of [...bucket.locked]) bucket.locked.add(`${path}.old`);
  const { rowCount: locked } = await tock.owner.query(
    `select tock.request_erasure(r.position << 20 | r.stream, 'q') from tock.runs_1 r, tock.archived_files f
     where (r.stream, r.position) <= (f.last_stream, f.last_position) and r.task_id is null`,
  );
  expect(locked).toBeGreaterThan(8);
  await tock.owner.query("select tock.request_erasure($1, 'slow')", [ids.waited]);
  for (let n = 0; n < 40; n++) await step();
  expect(await archiveState()).toMatchObject({ waiting: 0, exported: 2, erasures_pending: locked });
  const { failures, last_error, objects_unwanted } = await archiveState();
  expect(objects_unwanted).toBe(1);
  expect([failures > 1, last_error]).toEqual([true, expect.stringContaining('is locked')]);
  bucket.locked.clear();
  await archive();
  expect(await archiveState()).toMatchObject({
    failures: 0,
    objects_unwanted: 0,
    erasures_pending: 0,
  });
});

test('a task with more files than a step rewrites is erased step by step', async () => {
  const [id = ''] = await enqueue(tock.owner, 'q', [{ payload: secret }]);
  for (let n = 0; n < 6; n++) {
    const lease = leaseOf(await claim(tock.owner, 'q'));
    if (n < 5) await fail(tock.owner, lease, { error: secret, retry_in_seconds: 0 });
    else await complete(tock.owner, lease);
  }
  await endSegment();
  await moveToArchive({ rows: 1 });
  expect(await archiveState()).toMatchObject({ files: 6 });
  await tock.send(`DELETE /v1/tasks/${id}/payload`);
  expect((await step()).body).toMatchObject({ erased: 0, more: true });
  expect(await archiveState()).toMatchObject({ erasures_pending: 1 });
  expect((await step()).body).toMatchObject({ erased: 1, more: true });
  expect((await step()).body).toMatchObject({ erased: 0, more: false });
  expect(await everythingStored()).not.toContain(secret);
});

test('concurrent steps that erase from one file lose nothing', async () => {
  const ids = await enqueue(
    tock.owner,
    'q',
    Array.from({ length: 12 }, () => ({ payload: secret })),
  );
  await completeAll('q');
  await endSegment();
  await moveToArchive({ rows: 6 });
  for (let n = 0; n < 12; n += 3) {
    const few = ids.slice(n, n + 3);
    await Promise.all(few.map((id) => tock.send(`DELETE /v1/tasks/${id}/payload`)));
    await Promise.all(few.map(() => archive()));
    const read = await Promise.all(ids.map(task));
    expect(read.map(({ body }) => body.payload)).toEqual(
      ids.map((_, i) => (i < n + 3 ? null : secret)),
    );
  }
  expect(await everythingStored()).not.toContain(secret);
  await archive();
  expect(await archiveState()).toMatchObject({
    failures: 0,
    erasures_pending: 0,
    objects_unwanted: 0,
  });
  expect(bucket.objects.size).toBe((await archiveState()).files);
});

test('an erasure that a concurrent step has overwritten stays pending and is made again', async () => {
  const ids = await enqueue(tock.owner, 'q', [{ payload: 'other' }, { payload: secret }]);
  await completeAll('q');
  await endSegment();
  await moveToArchive();
  const put = bucket.put.bind(bucket);
  const held: (() => void)[] = [];
  bucket.put = async (key, bytes) => {
    await new Promise<void>((go) => held.push(go));
    await put(key, bytes);
  };
  const erase = async (n: number) => {
    await tock.send(`DELETE /v1/tasks/${ids[n]}/payload`);
    const done = step();
    await waitUntil('the step puts its file', async () => held.length > n);
    return { done, go: () => held[n]?.() };
  };
  // Both steps have read the file before either writes it.
  const first = await erase(0);
  const second = await erase(1);
  for (const { done, go } of [first, second]) {
    go();
    expect((await done).status).toBe(200);
  }
  expect(await everythingStored()).toContain(secret);
  expect(await archiveState()).toMatchObject({ erasures_pending: 1 });
  bucket.put = put;
  await archive();
  expect(await everythingStored()).not.toContain(secret);
});

test('two concurrent steps archive each run once', async () => {
  const { ids, before } = await enabledOverTwoDays();
  const archiveAll = async () => {
    for (let more = true; more; ) {
      const { status, body, text } = await step({ rows: 5 });
      expect(status, text).toBe(200);
      more = body.more;
    }
  };
  await Promise.all([archiveAll(), archiveAll(), archiveAll()]);
  await archive();
  const runs = await value(
    tock.owner,
    'select count(*)::int from tock.runs where position < (select max(end_position) from tock.archives)',
  );
  expect((await archiveState()).rows).toBe(runs);
  await drop();
  expect(await answers(allTasks(ids))).toEqual(before);
  await archive();
  expect(bucket.objects.size).toBe((await archiveState()).files);
});

/** A drop that fails for a reader leaves a segment whose ids are already redirected. */
test.each([1, 2])(
  'no task is missing while a reader holds up the drop of segment %s',
  async (n) => {
    const { ids, before } = await enabledOverTwoDays();
    await archive();
    const reader = await tock.database.connect();
    await reader.query(`begin; select from tock.runs_${n}`);
    await drop();
    const left = await segments();
    expect([1, 2].filter((number) => left.includes(number))).toEqual([n]);
    expect(await answers(allTasks(ids))).toEqual(before);
  },
);

/** The statement succeeds, its answer is lost, and the rest of the step does not run. */
test.each(['tock.archive_part', 'tock.archived(', 'tock.archive_rewritten', 'tock.archive_erased'])(
  'a lost answer of %s does no harm',
  async (verb) => {
    const { ids } = await enabledOverTwoDays();
    if (/rewritten|erased/.test(verb)) {
      await archive({ rows: 20 });
      await drop();
      await tock.send(`DELETE /v1/tasks/${ids.done}/payload`);
    }
    tock.loseAnswer(verb);
    expect((await step({ rows: 20 })).status).toBeGreaterThanOrEqual(500);
    await archive({ rows: 20 });
    await tock.send(`DELETE /v1/tasks/${ids.done}/payload`);
    await tock.send(`DELETE /v1/tasks/${ids.dead}/payload`);
    await archive();
    await drop();
    await archive();
    expect(await everythingStored()).not.toContain(secret);
    expect((await task(ids.retried as string)).body.runs).toHaveLength(3);
    // Objects of the interrupted step are deleted after an hour.
    await tock.owner.query("update tock.archive_objects set noted_at = now() - interval '2 hours'");
    await archive();
    expect(bucket.objects.size).toBe((await archiveState()).files);
  },
);

test('a task that is erased between a part and its record is not recorded as it was', async () => {
  const { ids } = await enabledOverTwoDays();
  bucket.put = async (key, bytes) => {
    bucket.objects.set(key, bytes.slice());
    await tock.owner.query('select tock.erase($1)', [ids.done]);
  };
  expect((await step()).body).toMatchObject({ more: true, rows: 0 });
  await archive();
  await archive();
  await drop();
  expect((await task(ids.done as string)).body).toMatchObject({ payload: null, result: null });
});
