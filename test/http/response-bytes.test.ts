import type pg from 'pg';
import { beforeAll, expect, test } from 'vitest';
import { authorized } from '../../functions/http/authorize.ts';
import { fileService } from './file_service.ts';

const tock = fileService();
let edge: pg.Client;
beforeAll(async () => {
  edge = await tock.database.connect(tock.database.edgeUrl);
});

/**
 * The statements of an older Worker, which does not use sql/access/http_bodies.sql. A Worker is deployed after its
 * database, so these statements must still give the same answers.
 */
const before = {
  enqueue: authorized(
    'enqueue',
    '$2',
    't.ids::text[] as ids',
    `tock.enqueue(p_queue => $2, p_request_id => $4,
      p_tasks => coalesce($3::jsonb -> 'tasks', jsonb_build_array($3::jsonb - 'request_id'))) as t (ids)`,
  ),
  claim: authorized(
    'claim',
    '$2',
    `(array_agg(c.lease))[1] as lease, (array_agg(c.leased_until))[1] as leased_until,
      coalesce(json_agg(run), '[]') as tasks,
      case when count(*) > 0 then 'found' else (tock.claim_state(array[$2])).state end as state,
      case when count(*) > 0 then 0 else (tock.claim_state(array[$2])).retry_after_seconds end
        as retry_after_seconds`,
    `tock.claim(p_queue => $2, p_worker => $3, p_limit => $4, p_lease_seconds => $5,
      p_request_id => $6, p_own_transaction => true) as c
      cross join lateral (
        select c.id::text as id, c.run_id::text as run_id, c.attempt, c.max_attempts, c.priority,
          c.tenant, c.created_at, c.payload, null as headers, null as push_url, null as steps) as run`,
  ),
  complete: authorized(
    'claim',
    'tock.queue_of_lease(p_lease => $2::uuid)',
    'v.completed, v.refused::text[] as refused',
    `tock.complete(p_lease => $2::uuid, p_results => $3::jsonb -> 'results') as v`,
  ),
};

type Verb = keyof typeof before;

async function old(verb: Verb, ...values: unknown[]): Promise<string | undefined> {
  const { rows } = await edge.query(before[verb].key, [tock.key, ...values]);
  return rows[0]?.body;
}

async function now(route: string, raw: string) {
  const { status, text } = await tock.send(route, { raw });
  return { status, text };
}

/** Repeats a claim by its request id in both forms. Each repeat returns the same runs in the same order. */
async function claimed(queue: string, limit: number, id: string) {
  const body = JSON.stringify({ limit, worker: 'w', request_id: id });
  await now(`POST /v1/queues/${queue}/claim`, body);
  const after = await now(`POST /v1/queues/${queue}/claim`, body);
  return { after, before: await old('claim', queue, 'w', limit, null, id) };
}

const tasks = [
  '{"payload": {"b": 1.10, "a": [1e2, "\\u00e9\\t\\"\\\\"]}, "tenant": "t \\" \\\\ \\u0001 é"}',
  '{"payload": null, "priority": 0}',
  '{"payload": "%s %I", "max_attempts": 3, "tenant": "%s"}',
  '{"payload": 9007199254740993}',
  '{}',
];

test.each(tasks)(
  'the answer to a claim of one task is the same as with an older Worker: %#',
  async (task) => {
    const queue = `one${tasks.indexOf(task)}`;
    await now(`POST /v1/queues/${queue}/tasks`, task);
    const both = await claimed(queue, 1, 'r');
    expect(both.after).toEqual({ status: 200, text: both.before });
    expect(both.before).toContain('"state":"found"');
  },
);

test('the answer to a claim of many tasks is the same as with an older Worker', async () => {
  await now('POST /v1/queues/many/tasks', `{"tasks": [${tasks}]}`);
  const both = await claimed('many', 10, 'r');
  expect(both.after).toEqual({ status: 200, text: both.before });
  expect(JSON.parse(both.before ?? '').tasks).toHaveLength(5);
});

test('the answer to a claim without tasks or from a paused queue is the same as with an older Worker', async () => {
  await now('POST /v1/queues/later/tasks', '{"delay_seconds": 3600}');
  await tock.send('PUT /v1/queues/still', { body: { paused: true } });
  for (const queue of ['none', 'later', 'still']) {
    const after = await now(`POST /v1/queues/${queue}/claim`, '{}');
    const text = await old('claim', queue, null, 1, null, null);
    expect(after).toEqual({ status: 200, text });
  }
});

test('the answer to an enqueue of one, many or no tasks is the same as with an older Worker', async () => {
  const bodies = [...tasks, `{"tasks": [${tasks}]}`, '{"tasks": []}'];
  for (const [n, body] of bodies.entries()) {
    const id = `r${n}`;
    const withRequestId = JSON.stringify({ ...JSON.parse(body), request_id: id });
    const after = await now('POST /v1/queues/in/tasks', withRequestId);
    expect(after).toEqual({ status: 201, text: await old('enqueue', 'in', withRequestId, id) });
  }
  // Without a request id each call adds tasks, so the answers may differ only in the ids.
  const form = (text = '') => text.replaceAll(/\d+/g, '0');
  for (const body of bodies) {
    const after = await now('POST /v1/queues/in/tasks', body);
    expect(form(after.text)).toBe(form(await old('enqueue', 'in', body, null)));
  }
});

test('a task keeps its options, even after tasks without options in the same session', async () => {
  for (const task of [{}, { payload: 1 }]) await tock.post('queues/options/tasks', task);
  const task = { payload: 2, priority: 3, tenant: 't', max_attempts: 7 };
  const { body } = await tock.post('queues/options/tasks', { ...task, delay_seconds: 3600 });
  expect(await tock.task(body.ids[0])).toMatchObject({ ...task, state: 'waiting' });
});

test('the answer to a completion of all, some or no tasks is the same as with an older Worker', async () => {
  await now('POST /v1/queues/done/tasks', `{"tasks": [${tasks}]}`);
  const whole = await tock.claim('done', { limit: 2 });
  const parts = await tock.claim('done', { limit: 2 });
  const results = (...ids: string[]) =>
    JSON.stringify({ results: ids.map((id) => ({ id, result: 'x' })) });
  const [first, second] = parts.tasks.map(({ id }: { id: string }) => id);
  // A repeated completion gets the same answer.
  for (const [of, body, done] of [
    [whole.lease, '{}', '{"completed":2,"refused":[]}'],
    [parts.lease, results(first, '77'), '{"completed":1,"refused":["77"]}'],
    [parts.lease, results(second), '{"completed":1,"refused":[]}'],
  ]) {
    const after = await now(`POST /v1/leases/${of}/complete`, body ?? '');
    expect(after).toEqual({ status: 200, text: done });
    expect(await old('complete', of, body)).toBe(done);
  }
  const unknown = '5e1f7c0a-3b6d-4d58-9a52-7c1e00000001';
  expect((await now(`POST /v1/leases/${unknown}/complete`, '{}')).status).toBe(409);
  expect(await old('complete', unknown, '{}')).toBeUndefined();
});

test('a key for some queues completes only tasks that were claimed from these queues', async () => {
  await tock.add('mine');
  const { lease } = await tock.claim('mine');
  const status = async (scopes: ('claim' | 'enqueue')[], queues: string[]) =>
    (await tock.post(`leases/${lease}/complete`, {}, await tock.makeKey(scopes, queues))).status;
  expect(await status(['claim'], ['theirs'])).toBe(403);
  expect(await status(['enqueue'], ['mine'])).toBe(403);
  expect(await status(['claim'], ['mine', 'theirs'])).toBe(200);
});
