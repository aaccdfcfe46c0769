import type pg from 'pg';
import { expect, test } from 'vitest';
import { overlapping } from '../../kernel/sessions.ts';
import { client, databasePerTest } from '../../test_database.ts';
import { claim, complete, enqueue, numberedTasks, refusal, rows, value } from '../../verbs.ts';
import { claimAny } from './claim_any.ts';

databasePerTest();

test('a claim from several queues repeated with its request id gives the same runs', async () => {
  await enqueue(client, 'a', numberedTasks(3));
  await enqueue(client, 'b', numberedTasks(9));
  const queues = ['b', 'empty', 'a'];
  const options = { limit: 12, worker: 'w', lease_seconds: 60, request_id: 'r' };
  const first = await claimAny(client, queues, options);
  expect(first).toHaveLength(12);
  await enqueue(client, 'empty', numberedTasks(3));
  expect(await claimAny(client, queues, options)).toEqual(first);
  const leases = [...new Set(first.map((run) => run.lease))] as [string, string];
  await complete(client, leases[0]);
  expect(await claimAny(client, queues, options)).toEqual(first.filter((r) => r.queue === 'a'));
  await complete(client, leases[1]);
  expect((await refusal(claimAny(client, queues, options))).code).toBe('TK409');
  for (const change of [
    { ...options, limit: 3 },
    { ...options, weights: [1, 1, 1] },
  ]) {
    const refused = await refusal(claimAny(client, queues, change));
    expect(refused).toMatchObject({ code: 'TK422', detail: 'request_id' });
  }
  const turned = await refusal(claimAny(client, ['a', 'b', 'empty'], options));
  expect(turned).toMatchObject({ code: 'TK422', detail: 'request_id' });
  // claim() and claim_any() are different calls, so the request id means another claim here.
  expect(await claim(client, 'empty', { request_id: 'r' })).toHaveLength(1);
});

test('a repeated weighted claim gives the same runs, without a new draw', async () => {
  for (const queue of ['a', 'b', 'c']) await enqueue(client, queue, numberedTasks(30));
  for (let n = 0; n < 20; n++) {
    const options = { weights: [1, 1, 1], request_id: `r${n}`, limit: 1 };
    const first = await claimAny(client, ['a', 'b', 'c'], options);
    expect(await claimAny(client, ['a', 'b', 'c'], options)).toEqual(first);
  }
  expect(await value(client, 'select sum(runs)::int from tock.leases')).toBe(20);
});

test('concurrent calls with one request id hold the same runs, with the queues in any order', async () => {
  await enqueue(client, 'a', numberedTasks(10));
  await enqueue(client, 'b', numberedTasks(10));
  const call = (on: pg.Client) => claimAny(on, ['b', 'a'], { limit: 12, request_id: 'c' });
  const [first, second] = await overlapping(call, call);
  expect(second.map((run) => run.run_id)).toEqual(first.map((run) => run.run_id));
});

test.each([
  ['no queues', [], null, 'queues'],
  ['a queue named twice', ['a', 'b', 'a'], null, 'queues'],
  ['21 queues', Array.from({ length: 21 }, (_, n) => `q${n}`), null, 'queues'],
  ['the default policy', ['a', '*'], null, 'queue'],
  ['no name', ['a', null], null, 'queue'],
  ['weights for some only', ['a', 'b'], [1], 'weights'],
  ['a weight that is null', ['a', 'b'], [1, null], 'weights'],
  ['a huge weight', ['a', 'b'], [1, 1001], 'weights'],
])('%s is refused', async (_, queues, weights, detail) => {
  const options = { weights: weights as number[] };
  const refused = await refusal(claimAny(client, queues as string[], options));
  expect(refused).toMatchObject({ code: 'TK422', detail });
});

test('an array with a lower bound of 5 is accepted', async () => {
  await enqueue(client, 'b', numberedTasks(2));
  const statement = `select id from tock.claim_any(p_queues => '[5:6]={a,b}', p_request_id => 'r')`;
  const first = await rows(client, statement);
  expect(first).toHaveLength(1);
  expect(await rows(client, statement)).toEqual(first);
});

test('no limit, or a long name of a worker, is refused as in a claim', async () => {
  for (const options of [{ limit: 0 }, { limit: 10_001 }, { worker: 'x'.repeat(201) }]) {
    expect((await refusal(claimAny(client, ['a'], options))).code).toBe('TK422');
  }
});
