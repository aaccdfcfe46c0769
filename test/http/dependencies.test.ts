import { expect, test } from 'vitest';
import { fileService } from './file_service.ts';

const tock = fileService();

test('tasks of one call run after their parents, and the last one gets all results', async () => {
  const tasks = [
    { name: 'a', payload: 1 },
    { name: 'b', payload: 2, depends_on: ['a'] },
    { payload: 'sum', depends_on: ['a', 'b'], include_results: true },
  ];
  const ids = await tock.add('flow', ...tasks);
  for (const n of [0, 1]) {
    const { lease, tasks } = await tock.claim('flow');
    expect(tasks).toMatchObject([{ id: ids[n], payload: n + 1 }]);
    await tock.post(`leases/${lease}/complete`, { results: [{ id: ids[n], result: n * 10 }] });
  }
  const all = [
    { id: ids[0], name: 'a', state: 'done', result: 0 },
    { id: ids[1], name: 'b', state: 'done', result: 10 },
  ];
  expect((await tock.claim('flow')).tasks).toMatchObject([
    { id: ids[2], payload: { payload: 'sum', parents: all } },
  ]);
  const parents = `GET /v1/tasks/${ids[2]}/parents`;
  expect((await tock.send(parents)).body).toEqual({
    parents: all.map((parent, n) => ({ n: n + 1, ...parent })),
    counts: { done: 2 },
  });
  const second = (await tock.send(`${parents}?after=1&limit=5`)).body;
  expect(second).toMatchObject({ parents: [{ n: 2 }], counts: null });
  expect((await tock.send(`GET /v1/tasks/${ids[0]}/parents`)).body).toMatchObject({ parents: [] });
  expect((await tock.send('GET /v1/tasks/999999999/parents')).status).toBe(404);
});

test('a key sees the children of its own queues and tenants, and gets to all of them', async () => {
  const key = await tock.makeKey(['read'], ['elder']);
  const [id] = await tock.add('elder');
  const child = { depends_on: [id] };
  const add = async (queue: string) => (await tock.add(queue, child))[0];
  const foreign = [await add('younger'), await add('younger')];
  const own = [await add('elder'), await add('elder')];
  const list = async (query: string) =>
    (await tock.send(`GET /v1/tasks/${id}/children?${query}`, { key })).body;
  const first = await list('limit=1');
  const child0 = { id: own[0], queue: 'elder', state: 'waiting' };
  expect(first).toEqual({ children: [child0], cursor: own[0] });
  const second = await list(`limit=1&cursor=${first.cursor}`);
  expect(second).toMatchObject({ children: [{ id: own[1] }], cursor: null });
  expect(JSON.stringify([first, second])).not.toContain(foreign[1]);
  await tock.add('younger', ...Array(1000).fill(child));
  own.push(await add('elder'));
  // Between its own children are a thousand foreign ones, which fill a page without any.
  const found = [];
  for (let cursor = own[1], pages = 0; cursor !== null && pages < 5; pages++) {
    const page = await list(`limit=10&cursor=${cursor}`);
    found.push(...page.children.map((one: { id: string }) => one.id));
    cursor = page.cursor;
  }
  expect(found).toEqual([own[2]]);
  const other = await tock.makeKey(['read'], ['younger']);
  expect((await tock.send(`GET /v1/tasks/${id}/children`, { key: other })).status).toBe(403);
});

test('a page of parents has those that the key may read, wherever they stand', async () => {
  const parents = [...(await tock.add('others', {}, {})), ...(await tock.add('ours', {}, {}))];
  const [id] = await tock.add('ours', { depends_on: parents });
  const key = await tock.makeKey(['read'], ['ours']);
  const { body } = await tock.send(`GET /v1/tasks/${id}/parents?limit=1`, { key });
  expect(body).toMatchObject({ parents: [{ n: 3, id: parents[2] }], counts: { ready: 2 } });
});

test('of many parents those in one state are listed, without their results', async () => {
  const ids = await tock.add('many', ...Array(6).fill({ max_attempts: 1 }));
  const [id] = await tock.add('many', { depends_on: ids, on_parent_failure: 'wait' });
  const claimed = await tock.claim('many', { limit: 4 });
  const [first, second] = claimed.tasks;
  await tock.post(`leases/${claimed.lease}/complete`, {
    results: [{ id: first.id, result: 'big' }],
  });
  await tock.post(`leases/${claimed.lease}/fail`, { failures: [{ id: second.id, error: 'no' }] });
  const list = (query: string) => tock.send(`GET /v1/tasks/${id}/parents?${query}`);
  expect((await list('state=dead&limit=1')).body).toEqual({
    parents: [{ n: 2, id: ids[1], name: null, state: 'dead', result: null }],
    counts: { done: 1, dead: 1, running: 2, ready: 2 },
  });
  expect((await list('state=ready&after=5')).body.parents).toMatchObject([{ n: 6, id: ids[5] }]);
  expect((await list('results=false&limit=1')).body.parents).toMatchObject([{ result: null }]);
  expect(await list('state=soon')).toMatchObject({ status: 422, body: { field: 'state' } });
});

test('a key for some queues names no parents of others', async () => {
  const ids = await tock.add('secret');
  const key = await tock.makeKey(['enqueue'], ['open']);
  const task = { depends_on: ids, include_results: true };
  expect((await tock.post('queues/open/tasks', task, key)).body).toMatchObject({
    status: 403,
    field: 'depends_on',
  });
  expect((await tock.post('queues/open/tasks', { tasks: [{}, task] }, key)).status).toBe(403);
  expect((await tock.post('queues/open/tasks', task)).status).toBe(201);
});

test("a key for some queues does not see the data of other queues' tasks through its own tasks", async () => {
  const key = await tock.makeKey(['read'], ['mine']);
  const see = async (id: string) => (await tock.send(`GET /v1/tasks/${id}`, { key })).body;
  const parentsOf = async (id: string, by = key) =>
    (await tock.send(`GET /v1/tasks/${id}/parents`, { key: by })).body.parents;
  const end = async (queue: string, how: 'complete' | 'fail', body: object) =>
    tock.post(`leases/${(await tock.claim(queue)).lease}/${how}`, body);
  const fatal = { error: { message: 'secret' }, fatal: true };
  const add = async (queue: string, task: object) => (await tock.add(queue, task))[0];

  const foreign = await add('theirs', { payload: 1 });
  await end('theirs', 'complete', { results: [{ id: foreign, result: 'secret' }] });
  const own = await add('mine', { payload: 1 });
  await end('mine', 'complete', { results: [{ id: own, result: 'open' }] });
  // Dead in its own queue, and run again in another.
  const sent = await add('mine', {});
  await end('mine', 'fail', fatal);
  const redriven = await tock.post('queues/mine/redrive', { to_queue: 'theirs' });
  const [again] = redriven.body.ids;
  await end('theirs', 'complete', { results: [{ id: again, result: 'secret' }] });
  const parents = [foreign, own, sent];
  const later = { on_parent_failure: 'run', delay_seconds: 600 };
  const child = await add('mine', { depends_on: parents, ...later });
  expect(await parentsOf(child)).toEqual([
    { n: 2, id: own, name: null, state: 'done', result: 'open' },
  ]);
  expect(await parentsOf(child, tock.key)).toHaveLength(3);
  expect((await see(child)).options.depends_on).toEqual([own]);
  expect(await see(sent)).toMatchObject({ id: sent, reruns: [] });
  expect((await tock.task(sent)).reruns).toMatchObject([{ id: again }]);

  const dies = await add('theirs', {});
  const cancelled = await add('mine', { depends_on: [dies] });
  await end('theirs', 'fail', fatal);
  const seen = await see(cancelled);
  expect(seen).toMatchObject({ state: 'cancelled', options: { depends_on: [] } });
  expect(seen.error).toEqual({
    name: 'ParentFailed',
    message: 'a task that this task depends on is dead',
  });
  expect(JSON.stringify(seen)).not.toContain(dies);

  const staged = await add('mine', { unique_key: 'k', pipeline: ['mine', 'theirs'] });
  const search = 'GET /v1/tasks?queue=mine&unique_key=k';
  expect((await tock.send(search, { key })).body.tasks).toMatchObject([{ id: staged }]);
  await end('mine', 'complete', { results: [{ id: staged, result: 'secret' }] });
  await end('theirs', 'fail', fatal);
  expect((await tock.send(search, { key })).body.tasks).toEqual([]);
});

test('a key for some queues cannot name a parent id that does not exist yet', async () => {
  const key = await tock.makeKey(['enqueue', 'read'], ['open']);
  // The id of a task that does not exist yet. Over HTTP this would be a race between the key's check and the new id.
  const coming = '9007199254740992';
  const judged = tock.owner.query("select tock.authorize_tasks($1, $2, 'depends_on')", [
    key,
    JSON.stringify([{ depends_on: [coming] }]),
  ]);
  await expect(judged).rejects.toMatchObject({ code: 'TK422' });
  const reach = async (by: string) =>
    (await tock.owner.query('select tock.visible_task($1, $2) as id', [by, coming])).rows[0].id;
  expect(await reach(key)).toBeNull();
  expect(await reach(tock.key)).toBe(coming);
});

test("a spawn is checked like an enqueue: its tasks, and the key's rights", async () => {
  const ids = await tock.add('bad');
  const { lease } = await tock.claim('bad');
  const complete = (spawn: object, key?: string) =>
    tock.post(`leases/${lease}/complete`, { results: [{ id: ids[0], spawn }] }, key);
  expect((await complete({ tasks: [{ depends_on: ['x'] }] })).body).toMatchObject({
    status: 422,
    field: 'results[0].spawn.tasks[0].depends_on[0]',
  });
  expect((await complete({ tasks: [{ priority: 11 }] })).body).toMatchObject({
    status: 422,
    field: 'results[0].spawn.tasks[0].priority',
  });
  const worker = await tock.makeKey(['claim']);
  expect((await complete({ tasks: [{}] }, worker)).status).toBe(403);
  const bad = await tock.makeKey(['claim', 'enqueue'], ['bad']);
  expect((await complete({ queue: 'other', tasks: [{}] }, bad)).status).toBe(403);
  expect((await complete({ tasks: [{}] }, bad)).status).toBe(200);
});
