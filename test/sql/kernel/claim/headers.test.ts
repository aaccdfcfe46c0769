import { expect, test } from 'vitest';
import { client, databasePerFile } from '../../test_database.ts';
import {
  claim,
  complete,
  enqueue,
  expire,
  fail,
  leaseOf,
  makeDue,
  promote,
  reap,
  refusal,
  task,
  value,
} from '../../verbs.ts';

databasePerFile();

const trace = { traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01' };

/** The headers that lease_headers() returns for each run of a claim, in the claim's order. */
async function headersOf(queue: string, limit = 1) {
  const runs = await claim(client, queue, { limit });
  const lease = leaseOf(runs);
  const headersByRun = await value(client, 'select tock.lease_headers(p_lease => $1)', [lease]);
  const ofRuns = headersByRun as Record<string, { headers: unknown }>;
  return { lease, headers: runs.map((run) => ofRuns[run.run_id]?.headers ?? null) };
}

test('headers stay with a task through failures, losses and another run of it', async () => {
  const [id] = await enqueue(client, 'kept', [{ headers: trace }]);
  const first = await headersOf('kept');
  expect(first.headers).toEqual([trace]);
  await fail(client, first.lease, { error: { name: 'x' }, retry_in_seconds: 1 });
  await makeDue(client, 'kept');
  await promote(client);
  const second = await headersOf('kept');
  expect(second.headers).toEqual([trace]);
  await expire(client, second.lease);
  await reap(client);
  const third = await headersOf('kept');
  expect(third.headers).toEqual([trace]);
  await complete(client, third.lease);
  expect((await task(client, id as string))?.options).toEqual({ headers: trace });
  await client.query('select * from tock.rerun(p_ids => $1)', [[id]]);
  expect((await headersOf('kept')).headers).toEqual([trace]);
});

test('headers follow a task through a pipeline, and not to the tasks that it spawns', async () => {
  await enqueue(client, 'stage-a', [{ pipeline: ['stage-a', 'stage-b'], headers: trace }]);
  const [run] = await claim(client, 'stage-a');
  const results = [{ id: run?.id, result: 1, spawn: { queue: 'child', tasks: [{ payload: 2 }] } }];
  await complete(client, run?.lease as string, results);
  expect((await headersOf('stage-b')).headers).toEqual([trace]);
  expect((await headersOf('child')).headers).toEqual([null]);
});

test('each task of a lease has its own headers, in any segment', async () => {
  const tasks = [{ headers: { a: '1' } }, { timeout_seconds: 60 }, { headers: { a: '3' } }];
  await enqueue(client, 'several', tasks);
  const { headers: expected, lease } = await headersOf('several', 1);
  expect(expected).toEqual([{ a: '1' }]);
  await client.query('select tock.release(p_lease => $1)', [lease]);
  await enqueue(client, 'more', [{ headers: { b: '1' } }, { headers: { b: '2' } }]);
  const before = await headersOf('more', 2);
  expect(before.headers).toEqual([{ b: '1' }, { b: '2' }]);
  const segment = await value<number>(client, 'select tock.lease_segment($1)', [before.lease]);
  expect(
    await value(client, `select tock.run_headers_${segment}($1, $2)`, [before.lease, segment]),
  ).toEqual(await value(client, 'select tock.lease_headers($1)', [before.lease]));
});

test('an erased task has neither headers nor a URL', async () => {
  await client.query(`select tock.put_queue('erased', '{"push": {}}')`);
  const push_url = 'https://example.com/?token=secret';
  const [id] = await enqueue(client, 'erased', [{ headers: trace, push_url }]);
  await complete(client, leaseOf(await claim(client, 'erased')));
  await client.query('select tock.erase($1)', [id]);
  expect((await task(client, id as string))?.options ?? {}).toEqual({});
});

test('empty headers are none', async () => {
  const [id] = await enqueue(client, 'plain', [{ payload: 1, headers: {} }]);
  expect((await task(client, id as string))?.options).toBeNull();
  expect((await headersOf('plain')).headers).toEqual([null]);
});

test.each([
  [[], 'headers'],
  [{ 'Upper-Case': 'x' }, 'headers.Upper-Case'],
  [{ '': 'x' }, 'headers'],
  [{ a: 1 }, 'headers.a'],
  [{ a: 'x\r\nhost: evil' }, 'headers.a'],
  [{ a: 'é' }, 'headers.a'],
  [{ ['a'.repeat(101)]: 'x' }, `headers.${'a'.repeat(100)}`],
  [{ a: 'x'.repeat(8192) }, 'headers'],
  [Object.fromEntries(Array.from({ length: 21 }, (_, n) => [`h${n}`, ''])), 'headers'],
])('headers %j are refused', async (headers, field) => {
  const { code, detail } = await refusal(enqueue(client, 'bad', [{}, { headers }]));
  expect([code, detail]).toEqual(['TK422', `tasks[1].${field}`]);
});
