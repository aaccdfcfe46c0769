import { expect, test } from 'vitest';
import { claim, enqueue, fail, leaseOf, value } from '../sql/verbs.ts';
import {
  answers,
  archive,
  archivePerTest,
  archiveState,
  bucket,
  completeAll,
  drop,
  enableArchive,
  enabledOverTwoDays,
  endSegment,
  everythingStored,
  moveToArchive,
  segments,
  task,
  tock,
} from './test_archive.ts';
import { allTasks, secret, twoDays } from './two_days.ts';

archivePerTest();

test('archived tasks are dropped from the database and read exactly as before', async () => {
  const { ids, before } = await enabledOverTwoDays();
  // Segments that are not in the archive yet are not dropped.
  await drop();
  expect(await segments()).toContain(1);
  expect(await archiveState()).toMatchObject({ enabled: true, waiting: 2, files: 0 });
  await archive({ rows: 7 });
  await drop();
  expect(await segments()).not.toContain(2);
  const runs = await value(tock.owner, 'select count(*)::int from tock.runs');
  expect(runs).toBe(0);
  expect(await answers(allTasks(ids))).toEqual(before);
  const { waiting, exported, files, rows: filed } = await archiveState();
  expect([waiting, exported, filed >= 60, files > 8]).toEqual([0, 2, true, true]);
  // The id of each run also finds its task.
  const { runs: attempts } = JSON.parse(before.get(ids.retried as string) ?? '{}');
  expect(attempts).toHaveLength(3);
  for (const { id } of attempts) expect((await task(id)).body).toMatchObject({ id: ids.retried });
  expect((await task('999999999999')).status).toBe(404);
  // A lookup reads the footer of a file and one row group.
  bucket.reads = [];
  await task(ids.plain as string);
  expect(bucket.reads.length).toBeLessThanOrEqual(2);
});

test('a wait for an archived task ends at once, and counts as one request of a rate', async () => {
  const ids = await twoDays(tock.owner);
  await moveToArchive();
  const { rows: made } = await tock.owner.query(
    `select key from tock.create_key(p_name => 'slow', p_scopes => array['read'], p_rate_limit => 2, p_rate_seconds => 3600)`,
  );
  const sent = tock.statements.length;
  const wait = (id: string, seconds: number) =>
    tock.send(`GET /v1/tasks/${id}?wait_seconds=${seconds}`, { key: made[0].key });
  expect((await wait(ids.retried as string, 30)).body.runs).toHaveLength(3);
  expect(tock.statements.length - sent).toBeLessThan(6);
  const [open = ''] = await enqueue(tock.owner, 'open', [{ payload: 1 }]);
  expect(await wait(open, 1)).toMatchObject({ status: 200, body: { state: 'ready' } });
  expect((await wait(open, 0)).status).toBe(429);
});

test('tasks are listed from the files, the newest segment first, page by page', async () => {
  const { ids } = await enabledOverTwoDays();
  await archive({ rows: 9 });
  const route = 'GET /v1/archive/tasks?queue=many&limit=7';
  // While a segment is in the database, the archive's list leaves its tasks out.
  expect((await tock.send(route)).body).toMatchObject({ tasks: [], cursor: null });
  await drop();
  const listedIds: string[] = [];
  let cursor = '';
  for (let n = 0; n < 100; n++) {
    const { body } = await tock.send(`${route}${cursor && `&cursor=${cursor}`}`);
    listedIds.push(...body.tasks.map(({ id }: { id: string }) => id));
    if (!body.cursor) break;
    cursor = body.cursor;
  }
  expect(listedIds).toHaveLength(50);
  expect(new Set(listedIds).size).toBe(50);
  const by = async (queue: string, filter: string) =>
    (await tock.send(`GET /v1/archive/tasks?queue=${queue}&${filter}`)).body.tasks;
  expect(await by('bills', 'state=dead')).toMatchObject([
    { id: ids.dead, state: 'dead', worker: 'w-bills', error: `the bank is closed ${secret}` },
  ]);
  expect(await by('shop', 'tenant=acme')).toMatchObject([{ id: ids.done, state: 'done' }]);
  expect(await by('shop', 'from=2099-01-01T00:00:00Z')).toEqual([]);
  // Instants have microseconds, as in the database.
  const { created_at } = (await task(ids.done as string)).body;
  const at = encodeURIComponent(created_at);
  const next = encodeURIComponent(
    await value(tock.owner, "select to_json($1::timestamptz + interval '1 microsecond') #>> '{}'", [
      created_at,
    ]),
  );
  const acmeFrom = `tenant=acme&from=${at}`;
  expect(await by('shop', `${acmeFrom}&to=${next}`)).toMatchObject([{ id: ids.done, created_at }]);
  expect(await by('shop', `${acmeFrom}&to=${at}`)).toEqual([]);
  expect(await by('later', 'unique_key=k-1')).toMatchObject([{ id: ids.delayed }]);
  expect(await by('later', 'unique_key=k-2')).toEqual([]);
  expect(await by('shop', 'worker=w-shop&tenant=acme')).toMatchObject([{ id: ids.done }]);
  expect(await by('shop', 'worker=w-bills')).toEqual([]);
  const closed = encodeURIComponent(`the bank is closed ${secret}`);
  expect(await by('bills', `error=${closed}`)).toMatchObject([{ id: ids.dead }]);
  expect(await by('bills', 'error=closed')).toEqual([]);
  // A task with several runs has one row, from its last run.
  const slow: { id: string }[] = await by('slow', '');
  expect(slow.map(({ id }) => id).sort()).toEqual([ids.retried, ids.waited].sort());
  expect((await tock.send('GET /v1/archive/tasks?queue=many&cursor=00')).status).toBe(422);
});

test('an error reads in the archive as it does in the database', async () => {
  const errors: unknown[] = [
    'plain',
    { message: 'said', code: 1 },
    { message: null },
    { message: 7 },
    { code: 1 },
    ['a', 1],
    null,
    { message: `${'x'.repeat(199)}😀 no half of a letter` },
    '😀'.repeat(300),
  ];
  for (const error of errors) {
    await enqueue(tock.owner, 'errors', [{ max_attempts: 1 }]);
    await fail(tock.owner, leaseOf(await claim(tock.owner, 'errors')), { error });
  }
  const ofErrors = ({ body }: { body: { tasks: { id: string; error: string | null }[] } }) =>
    body.tasks.map(({ id, error }) => [id, error]).sort();
  const before = ofErrors(await tock.send('GET /v1/tasks?queue=errors&state=dead'));
  expect(before).toHaveLength(errors.length);
  await endSegment();
  await moveToArchive();
  expect(ofErrors(await tock.send('GET /v1/archive/tasks?queue=errors&state=dead'))).toEqual(
    before,
  );
});

test('keys for some tenants or queues see the same tasks in the archive as before', async () => {
  const ids = await twoDays(tock.owner);
  await moveToArchive();
  const keyForMany = await tock.makeKey(['read'], ['many']);
  expect((await tock.send(`GET /v1/tasks/${ids.many}`, { key: keyForMany })).status).toBe(200);
  expect((await tock.send(`GET /v1/tasks/${ids.done}`, { key: keyForMany })).status).toBe(403);
  const { rows: made } = await tock.owner.query(
    "select key from tock.create_key(p_name => 'b', p_scopes => array['read'], p_tenants => array['b'])",
  );
  const { key } = made[0];
  expect((await tock.send(`GET /v1/tasks/${ids.retried}`, { key })).status).toBe(200);
  expect((await tock.send(`GET /v1/tasks/${ids.done}`, { key })).status).toBe(404);
  const listed = await tock.send('GET /v1/archive/tasks?queue=shop', { key });
  // The answer must not show how many tasks other tenants have.
  expect(listed.body).toMatchObject({ tasks: [], scanned: 0 });
  const many = await tock.send('GET /v1/archive/tasks?queue=many&limit=1', { key: keyForMany });
  expect(many.body).toMatchObject({ tasks: [{}], scanned: 50 });
  expect((await tock.send('GET /v1/archive/tasks?queue=shop', { key: keyForMany })).status).toBe(
    403,
  );
});

test('an erased task has no payload at once, and no file has it after a step', async () => {
  const { ids } = await enabledOverTwoDays();
  await archive({ rows: 11 });
  // The task's segment is exported and still in the database, so both copies must be erased.
  expect((await tock.send(`DELETE /v1/tasks/${ids.dead}/payload`)).status).toBe(200);
  await drop();
  expect(await everythingStored()).toContain(secret);
  const erased = await tock.send(`DELETE /v1/tasks/${ids.done}/payload`);
  expect(erased).toMatchObject({ status: 200, body: { erased: 1 } });
  expect((await task(ids.done as string)).text).not.toContain(secret);
  expect((await task(ids.dead as string)).text).not.toContain(secret);
  const listed = await tock.send('GET /v1/archive/tasks?queue=bills');
  expect(listed.text).not.toContain(secret);
  // A search for its old error or unique key must not find it either.
  const closed = encodeURIComponent(`the bank is closed ${secret}`);
  expect((await tock.send(`GET /v1/archive/tasks?queue=bills&error=${closed}`)).body.tasks).toEqual(
    [],
  );
  await tock.send(`DELETE /v1/tasks/${ids.delayed}/payload`);
  expect((await tock.send('GET /v1/archive/tasks?queue=later&unique_key=k-1')).body.tasks).toEqual(
    [],
  );
  expect(await archiveState()).toMatchObject({ erasures_pending: 3 });
  // With over 10,000 pending erasures the files' rows are hidden in another way: an answer shows nothing erased,
  // or is a 503.
  await tock.owner.query(
    "insert into tock.archive_erasures (task_id, queue) select n, 'q' from generate_series(1, 10001) n",
  );
  const dead = await tock.send('GET /v1/archive/tasks?queue=bills&state=dead');
  expect(dead.body.tasks).toMatchObject([{ id: ids.dead, error: null }]);
  expect((await tock.send('GET /v1/archive/tasks?queue=later&unique_key=k-1')).status).toBe(503);
  await tock.owner.query("delete from tock.archive_erasures where queue = 'q'");
  const { files } = await archiveState();
  await archive();
  expect(await everythingStored()).not.toContain(secret);
  expect(await archiveState()).toMatchObject({ erasures_pending: 0, files, objects_unwanted: 0 });
  expect((await task(ids.done as string)).body).toMatchObject({ state: 'done', payload: null });
  expect((await task(ids.plain as string)).body).toMatchObject({ payload: 7 });
  expect((await tock.send('DELETE /v1/tasks/999999999999/payload')).status).toBe(404);
});

test('tasks in the database are read without the store', async () => {
  await enableArchive();
  const [id = ''] = await enqueue(tock.owner, 'q', [{ payload: 1 }]);
  await completeAll('q');
  bucket.reads = [];
  const sent = tock.statements.length;
  expect((await task(id)).body).toMatchObject({ state: 'done' });
  expect([bucket.reads, tock.statements.length - sent]).toEqual([[], 1]);
  expect(await claim(tock.owner, 'q')).toEqual([]);
});
