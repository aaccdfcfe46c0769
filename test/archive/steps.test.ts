import { expect, test } from 'vitest';
import { indexOf } from '../../functions/archive/columns.ts';
import { readRows } from '../../functions/archive/parquet.ts';
import { createApp } from '../../functions/http/app.ts';
import { save, signal } from '../sql/features/steps/steps.ts';
import {
  ageClosedSegments,
  closeSegments,
  startNextSegment,
  verifySegments,
} from '../sql/kernel/segment/segments.ts';
import { claim, complete, enqueue, makeDue, promote, type Run, value } from '../sql/verbs.ts';
import {
  archive,
  archivePerTest,
  bucket,
  completeAll,
  drop,
  enableArchive,
  endSegment,
  everythingStored,
  moveToArchive,
  segments,
  task,
  tock,
} from './test_archive.ts';
import { passAllRetentions, secret } from './two_days.ts';

archivePerTest();

const take = async (queue: string) => (await claim(tock.owner, queue))[0] as Run;
const saveStep = (run: Run, step: object) => save(run, step, tock.owner);
const stepsOf = (id: string) => tock.send(`GET /v1/tasks/${id}/steps`);

async function begin(queue: string, options: object = {}): Promise<string> {
  return (await enqueue(tock.owner, queue, [options]))[0] as string;
}

async function wake(): Promise<void> {
  await tock.owner.query(
    "update tock.steps set due_at = now() - interval '1 s' where due_at is not null",
  );
  await makeDue(tock.owner, 'flow');
  await promote(tock.owner);
}

/** A task with steps in three segments, one with steps in two stages, and one without steps. All have ended. */
async function threeSegments() {
  const flow = await begin('flow', { tenant: 'acme' });
  let run = await take('flow');
  await saveStep(run, { name: 'charge', result: { text: secret, sum: 1.5 } });
  await saveStep(run, { name: 'pay', error: { message: 'no' }, retry_in_seconds: 60 });
  await startNextSegment(tock.owner);
  await wake();
  run = await take('flow');
  await saveStep(run, { name: 'pay', error: { message: secret } });
  await saveStep(run, { name: 'late', event: 'flow/late', timeout_seconds: 0 });
  await saveStep(run, { name: 'approval', event: 'flow/approved' });
  await signal('flow/approved', { by: secret }, tock.owner);
  await startNextSegment(tock.owner);
  await saveStep(await take('flow'), { name: 'nap', sleep_seconds: 60 });
  await wake();
  await complete(tock.owner, (await take('flow')).lease);

  const staged = await begin('one', { pipeline: ['one', 'two'] });
  for (const stage of ['one', 'two']) {
    run = await take(stage);
    await saveStep(run, { name: 'a', result: stage });
    await complete(tock.owner, run.lease, [{ id: staged, result: stage }]);
  }
  const plain = await begin('plain');
  await completeAll('plain');
  await endSegment();
  await closeSegments(tock.owner);
  return { flow, staged, plain };
}

/** Archives and drops one segment, whatever the others are. */
async function retire(segment: number): Promise<void> {
  await tock.owner.query(
    "update tock.segments set closed_at = now() - interval '60 days' where number = $1 and closed_at is not null",
    [segment],
  );
  await verifySegments(tock.owner);
  await archive({ rows: 2 });
  await drop();
  expect(await segments()).not.toContain(segment);
}

async function read(ids: Record<string, string>) {
  const answers = await Promise.all(Object.values(ids).map(stepsOf));
  return answers.map(({ status, body }) => ({ status, body }));
}

const namesIn = (body: { steps: { name: string }[] }) => body.steps.map(({ name }) => name);

test.each(['one by one', 'together'])(
  'archived tasks have the same steps as before, each once: segments dropped %s',
  async (order) => {
    const ids = await threeSegments();
    const before = await read(ids);
    expect(before.map(({ body }) => namesIn(body))).toEqual([
      ['charge', 'pay', 'late', 'approval', 'nap'],
      ['a'],
      [],
    ]);
    const bare = createApp(tock.connect);
    for (const [n, id] of Object.values(ids).entries()) {
      const headers = { authorization: `Bearer ${tock.key}` };
      const answer = await bare.request(`/v1/tasks/${id}/steps`, { headers }, {});
      expect(await answer.json()).toEqual(before[n]?.body);
    }
    await enableArchive();
    if (order === 'together') {
      await passAllRetentions(tock.owner);
      await archive({ rows: 2 });
      expect(await read(ids)).toEqual(before);
      await drop();
    }
    for (const segment of [1, 2, 3]) {
      if (order === 'one by one') await retire(segment);
      expect(await read(ids)).toEqual(before);
    }
    expect(await value(tock.owner, 'select count(*)::int from tock.runs')).toBe(0);
    const files = await Promise.all([...bucket.objects.values()].map(readRows));
    const withSteps = files.flat().filter((row) => row[indexOf('steps')] !== null);
    expect(withSteps.map((row) => row[indexOf('task_id')]).sort()).toEqual(
      [ids.flow, ids.staged].sort(),
    );
    for (const { id } of (await task(ids.flow)).body.runs)
      expect((await stepsOf(id)).body).toEqual(before[0]?.body);
  },
);

test('the steps of an archived task are read with a key for its queue and tenant only', async () => {
  const { flow } = await threeSegments();
  await moveToArchive();
  const ofTenant = async (tenant: string) =>
    value<string>(
      tock.owner,
      "select key from tock.create_key(p_name => $1, p_scopes => array['read'], p_tenants => array[$1])",
      [tenant],
    );
  const statusWith = async (key: string) =>
    (await tock.send(`GET /v1/tasks/${flow}/steps`, { key })).status;
  expect(await statusWith(await tock.makeKey(['read'], ['flow']))).toBe(200);
  expect(await statusWith(await tock.makeKey(['read'], ['plain']))).toBe(403);
  expect(await statusWith(await tock.makeKey(['claim']))).toBe(403);
  expect(await statusWith(await ofTenant('acme'))).toBe(200);
  expect(await statusWith(await ofTenant('other'))).toBe(404);
  expect((await stepsOf('999999999999')).status).toBe(404);
});

test('a task whose last segment is dropped before its first one has its steps in the archive', async () => {
  await tock.owner.query(`select tock.put_queue('kept', '{"retention_seconds": 7776000}')`);
  const id = await begin('flow');
  await begin('kept');
  await completeAll('kept');
  await saveStep(await take('flow'), { name: 'nap', sleep_seconds: 60 });
  await startNextSegment(tock.owner);
  await wake();
  await complete(tock.owner, (await take('flow')).lease);
  await endSegment();
  await closeSegments(tock.owner);
  const before = (await stepsOf(id)).body;
  expect(namesIn(before)).toEqual(['nap']);
  await moveToArchive();
  expect((await segments()).slice(0, 2)).toEqual([1, 3]);
  expect((await stepsOf(id)).body).toEqual(before);
  await ageClosedSegments(tock.owner, '120 days');
  await archive();
  await drop();
  expect(await segments()).not.toContain(1);
  expect((await stepsOf(id)).body).toEqual(before);
});

test.each(['in the database and in the archive', 'in the archive only'])(
  'an erasure of a task %s leaves none of its steps',
  async (place) => {
    const { flow, staged } = await threeSegments();
    const kept = (await stepsOf(staged)).body;
    await enableArchive();
    if (place === 'in the archive only') for (const segment of [1, 2, 3]) await retire(segment);
    else {
      await passAllRetentions(tock.owner);
      await archive();
    }
    expect(await everythingStored()).toContain(secret);
    // Those of dropped segments were moved to the segment in use.
    const inDatabase = `select coalesce(string_agg(s::text, ' '), '') from tock.steps s`;
    expect(await value(tock.owner, inDatabase)).toContain(secret);
    expect((await tock.send(`DELETE /v1/tasks/${flow}/payload`)).status).toBe(200);
    expect((await stepsOf(flow)).body).toEqual({ steps: [] });
    expect(await value(tock.owner, inDatabase)).not.toContain(secret);
    await archive();
    await drop();
    expect(await everythingStored()).not.toContain(secret);
    expect((await stepsOf(flow)).body).toEqual({ steps: [] });
    expect((await stepsOf(staged)).body).toEqual(kept);
  },
);
