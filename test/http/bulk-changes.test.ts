import { expect, test } from 'vitest';
import { fileService } from './file_service.ts';

const tock = fileService();
let count = 0;

/** Creates a queue with dead tasks, one for each error. */
async function dead(...errors: string[]) {
  const queue = `mind${++count}`;
  const at = `queues/${queue}`;
  const ids: string[] = await tock.add(queue, ...errors.map((_, payload) => ({ payload })));
  const { lease, tasks: runs } = await tock.claim(queue, { limit: 100 });
  const failures = runs.map((run: { id: string; payload: number }) => ({
    id: run.id,
    fatal: true,
    error: { message: errors[run.payload] },
  }));
  await tock.post(`leases/${lease}/fail`, { failures });
  const claim = async () => (await tock.claim(queue, { limit: 100 })).tasks;
  return { queue, at, ids, id: ids[0] as string, claim };
}

test('dead tasks are grouped, and redriven by error to another queue', async () => {
  const { queue, at, ids, claim } = await dead('timeout', 'no user', 'timeout');
  const { body } = await tock.send(`GET /v1/${at}/dead`);
  expect(body).toEqual({
    groups: [
      { error: 'timeout', tasks: 2, newest_at: expect.any(String), newest_id: ids[2] },
      { error: 'no user', tasks: 1, newest_at: expect.any(String), newest_id: ids[1] },
    ],
    counted_all: true,
  });
  const options = { error: 'timeout', request_id: 'r', to_queue: 'elsewhere', reason: 'mended' };
  const first = await tock.post(`${at}/redrive`, options);
  expect(first).toMatchObject({ status: 200, body: { redriven: 2, cursor: null } });
  expect((await tock.post(`${at}/redrive`, options)).body).toEqual(first.body);
  expect(await claim()).toEqual([]);
  const { tasks } = (await tock.post('queues/elsewhere/claim', { limit: 9 })).body;
  expect(tasks).toHaveLength(2);
  const was = await tock.task(ids[0] as string);
  expect(was.reruns).toMatchObject([{ kind: 'redrive', reason: 'mended' }]);
  expect(await tock.task(was.reruns[0].id)).toMatchObject({ rerun_of: ids[0], queue: 'elsewhere' });
  expect((await tock.send(`GET /v1/${at}/dead?limit=1`)).body.groups).toMatchObject([{ tasks: 1 }]);
  const rerun = (await tock.send(`GET /v1/tasks?queue=${queue}&state=dead&rerun=true`)).body;
  expect(rerun.tasks).toMatchObject([
    { id: ids[2], error: 'timeout', rerun: true },
    { id: ids[0] },
  ]);
});

test("a key for one queue can neither change another queue's tasks nor move tasks there", async () => {
  const mine = await tock.makeKey(['enqueue', 'read', 'admin'], ['mine']);
  const { at, id, queue } = await dead('a');
  const [own] = await tock.add('mine');
  const refused = async (route: string, body?: object) => {
    const reply = await tock.send(route, { body, key: mine });
    expect(reply, route).toMatchObject({ status: 403 });
  };
  await refused(`GET /v1/tasks?queue=${queue}`);
  await refused(`GET /v1/${at}/dead`);
  await refused(`POST /v1/${at}/redrive`, { to_queue: 'mine' });
  await refused('POST /v1/queues/mine/redrive', { to_queue: queue });
  await refused(`POST /v1/tasks/${id}/rerun`, {});
  await refused('POST /v1/tasks/rerun', { ids: [own, id] });
  await refused('POST /v1/tasks/move', { ids: [own], queue });
  await refused('POST /v1/tasks/reprioritize', { ids: [own, id], priority: 1 });
  await refused(`POST /v1/${at}/cancel`, {});
  await refused(`POST /v1/${at}/reprioritize`, { priority: 1 });
  await refused(`POST /v1/${at}/purge`, {});
  await refused(`DELETE /v1/${at}?force=true`);
  await tock.post('tasks/move', { ids: [own], queue });
  // After the move the task is not in the key's queue any more.
  await refused(`GET /v1/tasks/${own}`);
  await refused(`POST /v1/tasks/${own}/cancel`, {});
  expect((await tock.post('queues/mine/redrive', {}, mine)).body.redriven).toBe(0);
});
