import { beforeAll, expect, test } from 'vitest';
import { waitUntil } from '../sql/verbs.ts';
import { conditionTimeout } from '../timeout.ts';
import { fileService } from './file_service.ts';

const tock = fileService();
let mine: string;
beforeAll(async () => {
  mine = await tock.makeKey(['enqueue', 'read', 'admin'], ['mine']);
});

async function enqueue(queue: string, task: object): Promise<string> {
  return (await tock.send(`POST /v1/queues/${queue}/tasks`, { body: task })).body.ids[0];
}

const state = async (id: string) => (await tock.send(`GET /v1/tasks/${id}`)).body.state;

test("a key for one queue changes, cancels and erases none of another's tasks", async () => {
  for (const task of [{}, { delay_seconds: 60 }]) {
    const id = await enqueue('theirs', task);
    const before = await state(id);
    for (const [route, body] of [
      [`PATCH /v1/tasks/${id}`, { priority: 0 }],
      [`POST /v1/tasks/${id}/cancel`, {}],
      [`DELETE /v1/tasks/${id}/payload`, undefined],
    ] as const) {
      const refused = await tock.send(route, { body, key: mine });
      expect(refused, route).toMatchObject({ status: 403 });
    }
    expect(await state(id)).toBe(before);
  }
});

test("a task that was moved to another queue is not reached by its earlier runs' ids", async () => {
  const id = await enqueue('mine', { delay_seconds: 60 });
  await tock.owner.query("update tock.waiting set due_at = now() - interval '1 s'");
  await tock.owner.query('select tock.promote(p_sweep => true)');
  const claimed = (await tock.send('POST /v1/queues/mine/claim', { body: {} })).body;
  const [{ run_id }] = claimed.tasks;
  expect(claimed.tasks).toMatchObject([{ id }]);
  await tock.send(`POST /v1/leases/${claimed.lease}/fail`, { body: { retry_in_seconds: 1000 } });
  await tock.send('POST /v1/tasks/move', { body: { ids: [id], queue: 'theirs' } });
  for (const anyId of [id, run_id]) {
    for (const [route, body] of [
      [`GET /v1/tasks/${anyId}`, undefined],
      [`PATCH /v1/tasks/${anyId}`, { priority: 0 }],
      [`POST /v1/tasks/${anyId}/cancel`, {}],
      [`DELETE /v1/tasks/${anyId}/payload`, undefined],
    ] as const) {
      expect(await tock.send(route, { body, key: mine }), route).toMatchObject({ status: 403 });
    }
  }
  expect(await state(id)).toBe('waiting');
});

test('one task of another queue makes the whole call fail', async () => {
  const [own, foreign] = [await enqueue('mine', {}), await enqueue('theirs', {})];
  const send = (ids: string[]) => tock.send('POST /v1/tasks/cancel', { body: { ids }, key: mine });
  expect(await send([own, foreign])).toMatchObject({ status: 403 });
  expect([await state(own), await state(foreign)]).toEqual(['ready', 'ready']);
  expect((await send([own])).body.tasks).toEqual([{ id: own, state: 'cancelled', changed: true }]);
});

test("a task that commits after the key's check is not reached by its id", async () => {
  const writer = await tock.database.connect();
  await writer.query('begin');
  const { rows } = await writer.query(
    "select tock.enqueue_task(p_queue => 'theirs', p_delay_seconds => 600) as id",
  );
  const [own, id] = [await enqueue('mine', {}), rows[0].id];
  // With this lock the request waits in the check of its key, after it has taken its snapshot.
  await writer.query('lock table tock.keys in access exclusive mode');
  const cancelled = tock.send('POST /v1/tasks/cancel', { body: { ids: [own, id] }, key: mine });
  await waitUntil('the key is asked for', async () => {
    const waiting = await tock.owner.query(
      "select from pg_locks where relation = 'tock.keys'::regclass and not granted",
    );
    return waiting.rows.length > 0;
  });
  await writer.query('commit');
  expect((await cancelled).body.tasks).toMatchObject([{ id: own, changed: true }]);
  expect(await state(id)).toBe('waiting');
});

test('an unknown key is refused before any of its ids is looked up', async () => {
  const holder = await tock.database.connect();
  await holder.query('begin');
  // Because of this lock a lookup of an id would wait until its timeout, and the answer would be a 503.
  await holder.query(`set local idle_in_transaction_session_timeout = ${conditionTimeout}`);
  await holder.query('lock table tock.streams, tock.waiting in access exclusive mode');
  const body = { ids: ['1048577'] };
  const refused = await tock.send('POST /v1/tasks/cancel', { body, key: 'tock_none' });
  expect(refused.status).toBe(401);
  await holder.query('rollback');
});
