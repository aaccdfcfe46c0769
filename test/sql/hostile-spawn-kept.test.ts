import { expect, test } from 'vitest';
import { expectWhole } from './audit.ts';
import { age, pass, retain, settle, work } from './history.ts';
import { client, databaseEach, db } from './own.ts';
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
  rows,
  task,
  value,
} from './support.ts';

databaseEach();

const stateOf = async (id: string) => (await task(client, id))?.state;
type Whole = { payload: unknown; result: unknown; children: Record<string, unknown>[] };
const pause = (ms: number) => new Promise((r) => setTimeout(r, ms));
const change = (id: string, changes: object) =>
  client.query('select * from tock.change(array[$1::bigint], $2)', [id, JSON.stringify(changes)]);
const cancel = (id: string) => client.query('select tock.cancel(array[$1::bigint])', [id]);

async function doAll(queue: string, result: unknown = null) {
  const runs = await claim(client, queue, { limit: 100 });
  const results = runs.map((run) => ({ id: run.id, result }));
  if (runs.length) await complete(client, leaseOf(runs), results);
  return runs;
}

async function waits(queue: string, spawn: object, options: object = {}, result: unknown = 'r') {
  const [id = ''] = await enqueue(client, queue, [{ payload: 'p', ...options }]);
  await promote(client);
  const lease = leaseOf(await claim(client, queue));
  const results = [{ id, result, spawn: { wait: true, ...spawn } }];
  expect(await complete(client, lease, results)).toEqual({ completed: 1, refused: [] });
  return { id, lease, results };
}

async function freed(id: string, ms = 4000) {
  const end = Date.now() + ms;
  for (;;) {
    await promote(client);
    const state = await stateOf(id);
    if (state !== 'waiting' || Date.now() > end) return state;
    await pause(50);
  }
}

test('H1 merge into a task that was given its parents’ results keeps what it had', async () => {
  const [x = ''] = await enqueue(client, 'x', [{}]);
  const [id = ''] = await enqueue(client, 'q', [
    { payload: [1], unique_key: 'k', after: [x], gather: true, delay_seconds: 1000 },
  ]);
  await doAll('x', 'of x');
  const merged = { unique_key: 'k', on_conflict: 'merge', payload: [2] };
  const [other] = await enqueue(client, 'q', [merged]);
  expect(other).toBe(id);
  expect((await task(client, id))?.payload).toMatchObject({ payload: [1, 2], parents: [{ id: x }] });
});

test('H2 merge into a ready task that was given its parents’ results keeps what it had', async () => {
  const [x = ''] = await enqueue(client, 'x', [{}]);
  await enqueue(client, 'q', [{ payload: [1], unique_key: 'k', after: [x], gather: true }]);
  await doAll('x', 'of x');
  await enqueue(client, 'q', [{ unique_key: 'k', on_conflict: 'merge', payload: [2] }]);
  const runs = await claim(client, 'q', { limit: 10 });
  expect(JSON.stringify(runs.map((r) => r.payload))).toContain('1');
});

test('H3 merge into a task that waits for its children loses nothing', async () => {
  const keyed = { unique_key: 'k', on_conflict: 'merge' };
  await waits('q', { queue: 'c', tasks: [{}] }, { ...keyed, payload: [1] });
  await enqueue(client, 'q', [{ ...keyed, payload: [2] }]);
  await doAll('c');
  const runs = await claim(client, 'q', { limit: 10 });
  const all = JSON.stringify(runs.map((r) => r.payload));
  expect([all.includes('[1') , all.includes('2]')]).toEqual([true, true]);
});

test('H4 payload null: change of a rerun, then spawn and wait', async () => {
  const { id } = await waits('q', { queue: 'c', tasks: [{}] });
  await doAll('c');
  await doAll('q');
  const again = await value<string>(client, 'select rerun_id from tock.rerun(array[$1::bigint])', [id]);
  await change(again, { payload: null });
  const [run] = await claim(client, 'q');
  const spawn = { queue: 'c', tasks: [{}], wait: true };
  const answer = await complete(client, run?.lease as string, [{ id: run?.id, result: 1, spawn }]);
  expect(answer?.completed).toBe(1);
  await doAll('c', 'of c');
  expect((await claim(client, 'q'))[0]?.payload).toMatchObject({ result: 1, children: [{ result: 'of c' }] });
});

test('H7 such a task stops neither promotion nor the reaper, for anybody', async () => {
  const { id } = await waits('q', { queue: 'c', tasks: [{}] });
  await doAll('c');
  await doAll('q');
  const again = await value<string>(client, 'select rerun_id from tock.rerun(array[$1::bigint])', [id]);
  await change(again, { payload: null });
  const [run] = await claim(client, 'q');
  const spawn = { queue: 'c', tasks: [{}], wait: true };
  await complete(client, run?.lease as string, [{ id: run?.id, result: 1, spawn }]);
  const [child] = await claim(client, 'c');
  const [other] = await enqueue(client, 'others', [{ delay_seconds: 0.1 }]);
  const [lost] = await enqueue(client, 'lost', [{}]);
  const lease = leaseOf(await claim(client, 'lost'));
  const errors: string[] = [];
  const noted = (e: Error) => errors.push(e.message);
  await complete(client, child?.lease as string, [{ id: child?.id }]).catch(noted);
  await fail(client, child?.lease as string, { fatal: true }).catch(noted);
  await expire(client, lease);
  await expire(client, child?.lease as string);
  await client.query("update tock.queues set max_lost = 1 where name = 'c'").catch(noted);
  await client.query("select tock.put_queue('c', '{\"max_lost\": 1}')").catch(noted);
  await reap(client).catch(noted);
  // where the child was cancelled, it is promotion that looks
  await client.query('select tock.cancel(array[$1::bigint])', [child?.id]).catch(noted);
  await client.query("update tock.waiting set due_at = now() - interval '1 s'");
  await pause(200);
  await promote(client).catch(noted);
  expect({ errors, other: await stateOf(other as string), lost: await stateOf(lost as string) }).toEqual({
    errors: [],
    other: 'ready',
    lost: 'ready',
  });
});

test('H8 a child that is cancelled: promotion goes on for everybody', async () => {
  const { id } = await waits('q', { queue: 'c', tasks: [{}] });
  await doAll('c');
  await doAll('q');
  const again = await value<string>(client, 'select rerun_id from tock.rerun(array[$1::bigint])', [id]);
  await change(again, { payload: null });
  const [run] = await claim(client, 'q');
  const spawn = { queue: 'c', tasks: [{ delay_seconds: 100 }], wait: true };
  await complete(client, run?.lease as string, [{ id: run?.id, result: 1, spawn }]);
  const [child] = await rows<{ id: string }>(client, 'select id from tock.parents($1)', [again]);
  const [other] = await enqueue(client, 'others', [{ delay_seconds: 0.1 }]);
  const errors: string[] = [];
  await cancel(child?.id as string).catch((e) => errors.push(`cancel: ${e.message}`));
  await client.query("update tock.waiting set due_at = now() - interval '1 s' where queue <> 'c'");
  for (let n = 0; n < 5; n++) {
    await pause(100);
    await promote(client).catch((e) => errors.push(`promote: ${e.message}`));
  }
  const late = await stateOf(other as string);
  expect({ errors, late }).toEqual({ errors: [], late: 'ready' });
});

test('H5 payload an array: change of a rerun, then spawn and wait', async () => {
  const { id } = await waits('q', { queue: 'c', tasks: [{}] });
  await doAll('c');
  await doAll('q');
  const again = await value<string>(client, 'select rerun_id from tock.rerun(array[$1::bigint])', [id]);
  await change(again, { payload: ['children', 'a'] });
  const [run] = await claim(client, 'q');
  const spawn = { queue: 'c', tasks: [{}], wait: true };
  await complete(client, run?.lease as string, [{ id: run?.id, result: 1, spawn }]);
  await doAll('c', 'of c');
  expect((await claim(client, 'q'))[0]?.payload).toMatchObject({
    payload: ['children', 'a'],
    result: 1,
    children: [{ result: 'of c' }],
  });
});

test('H6 redrive of a task that died after its children, with another payload', async () => {
  const { id } = await waits('q', { queue: 'c', tasks: [{}] });
  await doAll('c');
  await fail(client, leaseOf(await claim(client, 'q')), { fatal: true });
  const again = await value<string>(client, 'select rerun_id from tock.rerun(array[$1::bigint])', [id]);
  await change(again, { payload: { a: 1 } });
  const [run] = await claim(client, 'q');
  const spawn = { queue: 'c', tasks: [{}], wait: true };
  await complete(client, run?.lease as string, [{ id: run?.id, result: 1, spawn }]);
  await doAll('c', 'of c');
  expect((await claim(client, 'q'))[0]?.payload).toMatchObject({ payload: { a: 1 }, result: 1 });
});

test('I1 a lease that was reaped spawns nothing', async () => {
  const [id = ''] = await enqueue(client, 'q', [{}]);
  const lease = leaseOf(await claim(client, 'q'));
  await expire(client, lease);
  await reap(client);
  expect(await complete(client, lease, [{ id, spawn: { queue: 'c', tasks: [{}] } }])).toBeUndefined();
  expect(await claim(client, 'c')).toEqual([]);
});

test('I2 a batch in which one spawn is bad leaves all as it was', async () => {
  const ids = await enqueue(client, 'q', [{}, {}, {}]);
  const lease = leaseOf(await claim(client, 'q', { limit: 3 }));
  const results = [
    { id: ids[0], result: 1 },
    { id: ids[1], spawn: { queue: 'c', tasks: [{}], wait: true } },
    { id: ids[2], spawn: { queue: 'c', tasks: [{}, { tenant: 5 }] } },
  ];
  const error = await refusal(complete(client, lease, results));
  expect(error).toMatchObject({ code: 'TK422', detail: 'results[2].spawn.tasks[1].tenant' });
  for (const id of ids) expect(await stateOf(id)).toBe('running');
  expect(await claim(client, 'c')).toEqual([]);
  results[2] = { id: ids[2], result: 3 };
  expect(await complete(client, lease, [...results, { id: '99999999' }])).toEqual({
    completed: 3,
    refused: ['99999999'],
  });
  expect(await complete(client, lease, results)).toEqual({ completed: 3, refused: [] });
  expect((await claim(client, 'c', { limit: 9 })).length).toBe(1);
  await expectWhole(client);
});

test('I3 the rest of a lease after one has spawned', async () => {
  const ids = await enqueue(client, 'q', [{}, {}, {}]);
  const lease = leaseOf(await claim(client, 'q', { limit: 3 }));
  await complete(client, lease, [{ id: ids[0], spawn: { queue: 'c', tasks: [{}], wait: true } }]);
  expect(await complete(client, lease)).toEqual({ completed: 3, refused: [] });
  expect(await complete(client, lease)).toEqual({ completed: 3, refused: [] });
  await doAll('c');
  expect((await claim(client, 'q', { limit: 9 })).map((r) => r.id)).toEqual([ids[0]]);
  await expectWhole(client);
});

test('I4 after request ids are gone a repeat is refused, and spawns nothing', async () => {
  const { id, lease, results } = await waits('q', { queue: 'c', tasks: [{}] });
  await client.query("update tock.requests set created_at = now() - interval '2 days'");
  await client.query('select tock.tidy()');
  expect(await complete(client, lease, results)).not.toMatchObject({ completed: 1 });
  expect(await complete(client, lease, results)).not.toMatchObject({ completed: 1 });
  expect((await claim(client, 'c', { limit: 9 })).length).toBe(1);
  expect(await stateOf(id)).toBe('waiting');
});

test('J1 epochs pass while it waits, and the first are dropped', async () => {
  const { id } = await waits('q', { queue: 'c', tasks: [{ payload: 1 }, { payload: 2 }] });
  const runs = await claim(client, 'c');
  await complete(client, leaseOf(runs), [{ id: runs[0]?.id, result: 'early' }]);
  await pass(client);
  await work(client, 'other', 2);
  const [late] = await claim(client, 'c');
  await pass(client);
  await work(client, 'other', 2);
  await settle(client);
  await age(client, '1 year');
  await retain(client);
  expect(await stateOf(id)).toBe('waiting');
  await complete(client, late?.lease as string, [{ id: late?.id, result: 'late' }]);
  expect(await freed(id)).toBe('ready');
  const [run] = await claim(client, 'q');
  console.log('J1', JSON.stringify(run));
  expect((run?.payload as Whole).children[1]?.result).toBe('late');
});

test('K1 whatever becomes of the children', async () => {
  const tasks = Array.from({ length: 7 }, (_, n) => ({ payload: n }));
  tasks.push({ payload: 7, expires_in_seconds: 0.3 } as never);
  const { id } = await waits('q', { queue: 'c', tasks });
  const kids = (await rows<{ id: string }>(client, 'select id from tock.parents($1)', [id])).map((p) => p.id);
  const runs = await claim(client, 'c', { limit: 4 });
  await complete(client, leaseOf(runs), runs.slice(0, 2).map((r) => ({ id: r.id, result: r.payload })));
  await fail(client, leaseOf(runs), [{ id: runs[2]?.id, fatal: true }]);
  await client.query('select tock.erase($1)', [kids[1]]);
  await cancel(kids[4] as string);
  await client.query('select tock.move(array[$1::bigint], $2)', [kids[5], 'e']);
  await pause(400);
  await client.query("select * from tock.purge_queue('c')");
  const spawn = { queue: 'd', tasks: [{}], wait: true };
  await complete(client, leaseOf(runs), [{ id: runs[3]?.id, spawn }]);
  await doAll('e', 'moved');
  expect(await stateOf(id)).toBe('waiting');
  const again = await value<string>(client, 'select rerun_id from tock.rerun(array[$1::bigint])', [kids[2]]);
  await doAll('c', 'again');
  expect(again).toBeTruthy();
  await doAll('d');
  await promote(client);
  const [nested] = await claim(client, 'c');
  expect(nested?.id).toBe(kids[3]);
  await complete(client, nested?.lease as string, [{ id: nested?.id, result: 'nested' }]);
  expect(await freed(id)).toBe('ready');
  const [run] = await claim(client, 'q');
  expect((run?.payload as Whole).children.map((c) => [c.id, c.state, c.result])).toEqual([
    [kids[0], 'done', 0],
    [kids[1], 'done', null],
    [kids[2], 'done', 'again'],
    [kids[3], 'done', 'nested'],
    [kids[4], 'cancelled', null],
    [kids[5], 'done', 'moved'],
    [kids[6], 'cancelled', null],
    [kids[7], 'expired', null],
  ]);
  await expectWhole(client);
});

test('K2 on_failure wait: a child that is run again', async () => {
  const { id } = await waits('q', { queue: 'c', tasks: [{}], on_failure: 'wait' });
  const [child] = await claim(client, 'c');
  await fail(client, child?.lease as string, { fatal: true });
  expect(await freed(id, 500)).toBe('waiting');
  await client.query('select tock.rerun(array[$1::bigint])', [child?.id]);
  await doAll('c', 'second');
  expect(await freed(id)).toBe('ready');
  expect(((await claim(client, 'q'))[0]?.payload as Whole).children[0]?.result).toBe('second');
});

test('K3 on_failure cancel; those after it are told', async () => {
  const [id = ''] = await enqueue(client, 'q', [{ gate: 'g' }]);
  const [after = '', next = ''] = [
    ...(await enqueue(client, 'r', [{ after: [id], on_parent_failure: 'run' }])),
    ...(await enqueue(client, 'q', [{ gate: 'g' }])),
  ];
  await promote(client);
  const lease = leaseOf(await claim(client, 'q'));
  const spawn = { queue: 'c', tasks: [{}], wait: true, on_failure: 'cancel' };
  await complete(client, lease, [{ id, spawn }]);
  await fail(client, leaseOf(await claim(client, 'c')), { fatal: true });
  expect(await freed(id)).toBe('cancelled');
  expect(await freed(after)).toBe('ready');
  expect(await freed(next)).toBe('ready');
  expect((await task(client, id))?.error).toMatchObject({ name: 'ParentFailed' });
});

test('K4 cancelled while it waits, at the moment its children end', async () => {
  const { id } = await waits('q', { queue: 'c', tasks: [{}, {}] });
  const other = await db.connect();
  const runs = await claim(client, 'c', { limit: 2 });
  await other.query('begin');
  await other.query('select tock.cancel(array[$1::bigint])', [id]);
  await complete(client, leaseOf(runs));
  await other.query('rollback');
  await other.end();
  expect(await freed(id)).toBe('ready');
});

test('K5 two children end at the same moment, unseen by each other', async () => {
  const { id } = await waits('q', { queue: 'c', tasks: [{}, {}] });
  const other = await db.connect();
  const a = leaseOf(await claim(client, 'c'));
  const b = leaseOf(await claim(client, 'c'));
  await other.query('begin');
  await complete(other, a);
  await complete(client, b);
  await other.query('commit');
  await other.end();
  expect(await freed(id, 2000)).toBe('ready');
});

test('M1 a gathered task in a pipeline that spawns in its second stage', async () => {
  const [x = ''] = await enqueue(client, 'x', [{}]);
  const [id = ''] = await enqueue(client, 'a', [
    { payload: 1, pipeline: ['a', 'b'], after: [x], gather: true, on_parent_failure: 'wait' },
  ]);
  await doAll('x', 'of x');
  const [one] = await claim(client, 'a');
  expect(one?.payload).toMatchObject({ payload: 1, parents: [{ id: x, result: 'of x' }] });
  const spawn = { queue: 'c', tasks: [{}], wait: true };
  await complete(client, one?.lease as string, [{ id, result: 'r1', spawn }]);
  await doAll('c', 'c1');
  const [two] = await claim(client, 'a');
  console.log('M1', JSON.stringify(two?.payload));
  expect(two?.payload).toMatchObject({ result: 'r1', children: [{ result: 'c1' }] });
  await complete(client, two?.lease as string, [{ id, result: 'to b' }]);
  const [three] = await claim(client, 'b');
  expect(three?.payload).toBe('to b');
  await complete(client, three?.lease as string, [{ id, result: 'r3', spawn }]);
  await doAll('c', 'c3');
  const [four] = await claim(client, 'b');
  expect(four?.payload).toMatchObject({ payload: 'to b', result: 'r3', children: [{ result: 'c3' }] });
  await change(id, { payload: 'changed' });
  await fail(client, four?.lease as string, { retry_in_seconds: 0 });
  const [five] = await claim(client, 'b');
  expect(five?.payload).toMatchObject({ payload: 'changed', result: 'r3', children: [{ result: 'c3' }] });
  await complete(client, five?.lease as string, [{ id, result: 'end' }]);
  expect(await stateOf(id)).toBe('done');
  await expectWhole(client);
});

test('M2 a payload changed while the run that goes on is running, then it spawns again', async () => {
  const { id } = await waits('q', { queue: 'c', tasks: [{}] });
  await doAll('c');
  const [run] = await claim(client, 'q');
  await change(id, { payload: 'changed' });
  const spawn = { queue: 'c', tasks: [{}], wait: true };
  await complete(client, run?.lease as string, [{ id, result: 'r2', spawn }]);
  expect((await task(client, id))?.payload).toEqual({ payload: 'changed', result: 'r2' });
  await doAll('c');
  expect((await claim(client, 'q'))[0]?.payload).toMatchObject({ payload: 'changed', result: 'r2' });
});

test('M3 a gathered task whose payload is changed while it runs, and then spawns', async () => {
  const [x = ''] = await enqueue(client, 'x', [{}]);
  const [id = ''] = await enqueue(client, 'q', [{ payload: 1, after: [x], gather: true }]);
  await doAll('x', 'of x');
  const [run] = await claim(client, 'q');
  await change(id, { payload: 2 });
  const spawn = { queue: 'c', tasks: [{}], wait: true };
  await complete(client, run?.lease as string, [{ id, result: 'r', spawn }]);
  await doAll('c');
  const [again] = await claim(client, 'q');
  expect(again?.payload).toMatchObject({ payload: { payload: 2, parents: [{ id: x }] }, result: 'r' });
  await change(id, { payload: 3 });
  await fail(client, again?.lease as string, { retry_in_seconds: 0 });
  expect((await claim(client, 'q'))[0]?.payload).toMatchObject({ payload: 3, result: 'r' });
});

test('M4 a gathered task that spawns: change while it waits', async () => {
  const [x = ''] = await enqueue(client, 'x', [{}]);
  const [id = ''] = await enqueue(client, 'q', [{ payload: 1, after: [x], gather: true }]);
  await doAll('x', 'of x');
  const [run] = await claim(client, 'q');
  const spawn = { queue: 'c', tasks: [{}], wait: true };
  await complete(client, run?.lease as string, [{ id, result: 'r', spawn }]);
  await change(id, { payload: 2 });
  await doAll('c');
  const [again] = await claim(client, 'q');
  console.log('M4', JSON.stringify(again?.payload));
  expect(again?.payload).toMatchObject({ payload: 2, result: 'r', children: [{ state: 'done' }] });
});

test('N1 purge of its queue while it waits', async () => {
  const { id } = await waits('q', { queue: 'c', tasks: [{}] });
  await client.query("select * from tock.purge_queue('q')");
  console.log('N1', await stateOf(id));
  await doAll('c');
  await makeDue(client, 'q');
  await promote(client);
  await expectWhole(client);
});

test('R1 a task that is cancelled while its completion is being written does not go on', async () => {
  const [id = ''] = await enqueue(client, 'q', [{}]);
  const lease = leaseOf(await claim(client, 'q'));
  const other = await db.connect();
  await other.query('begin');
  await complete(other, lease, [{ id, spawn: { queue: 'c', tasks: [{}], wait: true } }]);
  const said = await rows(client, 'select * from tock.cancel(array[$1::bigint])', [id]);
  console.log('R1', said);
  await other.query('commit');
  await other.end();
  await doAll('c');
  expect(await freed(id)).toBe('cancelled');
});

test('R2 the same of a task that fails and is to be tried again', async () => {
  const [id = ''] = await enqueue(client, 'q', [{}]);
  const lease = leaseOf(await claim(client, 'q'));
  const other = await db.connect();
  await other.query('begin');
  await fail(other, lease, { retry_in_seconds: 0.2 });
  const said = await rows(client, 'select * from tock.cancel(array[$1::bigint])', [id]);
  console.log('R2', said);
  await other.query('commit');
  await other.end();
  await pause(300);
  expect(await freed(id)).toBe('cancelled');
});

test('R3 priority asked for while it ran holds for what comes after its children', async () => {
  const [id = ''] = await enqueue(client, 'q', [{}]);
  const lease = leaseOf(await claim(client, 'q'));
  await change(id, { priority: 1 });
  await complete(client, lease, [{ id, spawn: { queue: 'c', tasks: [{}], wait: true } }]);
  await change(id, { run_at: new Date(Date.now() + 3_600_000).toISOString() });
  await doAll('c');
  expect(await task(client, id)).toMatchObject({ state: 'waiting', priority: 1 });
  await change(id, { run_at: new Date().toISOString() });
  expect(await freed(id)).toBe('ready');
});

test('R4 a waiting task that is itself a parent, with gather', async () => {
  const [id = ''] = await enqueue(client, 'q', [{}]);
  const [after = ''] = await enqueue(client, 'r', [{ after: [id], gather: true }]);
  const lease = leaseOf(await claim(client, 'q'));
  await complete(client, lease, [{ id, result: 'first', spawn: { queue: 'c', tasks: [{}], wait: true } }]);
  expect(await freed(after, 500)).toBe('waiting');
  await doAll('c');
  await doAll('q', 'last');
  expect(await freed(after)).toBe('ready');
  expect((await claim(client, 'r'))[0]?.payload).toMatchObject({ parents: [{ id, result: 'last' }] });
});

test('R5 a chain of 130 that each come after the one before, when the first is cancelled for a child', async () => {
  const [id = ''] = await enqueue(client, 'q', [{}]);
  let last = id;
  for (let n = 0; n < 130; n++) [last = ''] = await enqueue(client, 'r', [{ after: [last] }]);
  const lease = leaseOf(await claim(client, 'q'));
  await complete(client, lease, [{ id, spawn: { queue: 'c', tasks: [{}], wait: true, on_failure: 'cancel' } }]);
  await fail(client, leaseOf(await claim(client, 'c')), { fatal: true });
  expect(await freed(last)).toBe('cancelled');
  await expectWhole(client);
});

test('R6 a child in a pipeline counts when it has come to its end', async () => {
  const { id } = await waits('q', { queue: 'a', tasks: [{ pipeline: ['a', 'b'] }] });
  await doAll('a', 'to b');
  expect(await freed(id, 400)).toBe('waiting');
  await doAll('b', 'end');
  expect(await freed(id)).toBe('ready');
  expect(((await claim(client, 'q'))[0]?.payload as Whole).children[0]?.result).toBe('end');
});

test('R7 a repeat of the completion after what went on has ended', async () => {
  const { id, lease, results } = await waits('q', { queue: 'c', tasks: [{}] });
  await doAll('c');
  await doAll('q', 'end');
  expect(await complete(client, lease, results)).toEqual({ completed: 1, refused: [] });
  expect(await stateOf(id)).toBe('done');
  expect(await claim(client, 'c')).toEqual([]);
});

test('T1 lists: a task that waits for its children is one, and not done', async () => {
  const { id } = await waits('q', { queue: 'c', tasks: [{}] });
  const list = async (state: string) =>
    (await value<{ id: string }[]>(client, 'select tasks from tock.tasks($1)', [{ queue: 'q', state }])).map((r) => String(r.id));
  expect(await list('waiting')).toEqual([id]);
  expect(await list('done')).toEqual([]);
  await doAll('c');
  expect([await list('waiting'), await list('ready'), await list('done')]).toEqual([[], [id], []]);
  await doAll('q');
  expect([await list('waiting'), await list('ready'), await list('done')]).toEqual([[], [], [id]]);
});

test('T2 a keyed child that ends while the completion that waits for it is open', async () => {
  const [k = ''] = await enqueue(client, 'c', [{ unique_key: 'k' }]);
  const child = leaseOf(await claim(client, 'c'));
  const [id = ''] = await enqueue(client, 'q', [{}]);
  const lease = leaseOf(await claim(client, 'q'));
  const other = await db.connect();
  await other.query('begin');
  await complete(other, lease, [{ id, spawn: { queue: 'c', tasks: [{ unique_key: 'k' }], wait: true } }]);
  await complete(client, child, [{ id: k, result: 'k' }]);
  await pause(600);
  await other.query('commit');
  await other.end();
  expect(await freed(id)).toBe('ready');
  expect(((await claim(client, 'q'))[0]?.payload as Whole).children).toMatchObject([{ id: k, result: 'k' }]);
});

test('T3 a change under way when its children end is not lost', async () => {
  const { id } = await waits('q', { queue: 'c', tasks: [{}] });
  const other = await db.connect();
  await other.query('begin');
  await other.query('select tock.change(array[$1::bigint], $2)', [id, '{"payload": "new"}']);
  await doAll('c');
  await other.query('commit');
  await other.end();
  expect(await freed(id)).toBe('ready');
  expect((await claim(client, 'q'))[0]?.payload).toMatchObject({ payload: 'new', result: 'r', children: [{ state: 'done' }] });
});

test('T4 the queue of its children is dropped while it waits', async () => {
  const { id } = await waits('q', { queue: 'c', tasks: [{}, {}] });
  await client.query("select * from tock.purge_queue('c')");
  await client.query("select tock.drop_queue('c')").catch((e) => console.log('T4', e.message));
  expect(await freed(id)).toBe('ready');
});

test('T5 nothing is bigger for a payload that was changed while it waits', async () => {
  const { id } = await waits('q', { queue: 'c', tasks: [{}] }, {}, 'x'.repeat(1000));
  await change(id, { payload: 'y'.repeat(500) });
  await doAll('c', 'z'.repeat(100));
  const [row] = await rows<{ bytes: number; real: number }>(
    client,
    "select bytes, octet_length(payload::text) as real from tock.runs where options ? 'gathered'",
  );
  expect(row?.bytes).toBe(row?.real);
  await change(id, { payload: 'w' });
  const [next] = await rows<{ bytes: number; real: number }>(
    client,
    "select bytes, octet_length(payload::text) as real from tock.runs where options ? 'gathered' order by position desc limit 1",
  );
  expect(next?.bytes).toBe(next?.real);
});

test('T6 a child that reruns its parent’s queue: nested three deep, by one worker', async () => {
  const [id = ''] = await enqueue(client, 'q', [{ payload: 3 }]);
  const seen: string[] = [];
  for (let n = 0; n < 20; n++) {
    await promote(client);
    const [run] = await claim(client, 'q');
    if (!run) break;
    const whole = run.payload as Whole | number;
    const again = typeof whole === 'object';
    const depth = (again ? whole.payload : whole) as number;
    seen.push(`${depth}${again ? ` again ${JSON.stringify(whole.children[0]?.result)}` : ''}`);
    const spawn = { tasks: [{ payload: depth - 1 }], wait: true };
    const result = again ? `of ${depth}` : depth === 0 ? 'leaf' : null;
    await complete(client, run.lease, [{ id: run.id, result, ...(!again && depth > 0 ? { spawn } : {}) }]);
  }
  expect(seen).toEqual(['3', '2', '1', '0', '1 again "leaf"', '2 again "of 1"', '3 again "of 2"']);
  expect(await stateOf(id)).toBe('done');
  await expectWhole(client);
});

test('U1 a gathered task that is run again: a change is of what is under payload', async () => {
  const [x = ''] = await enqueue(client, 'x', [{}]);
  const [id = ''] = await enqueue(client, 'q', [{ payload: 1, after: [x], gather: true }]);
  await doAll('x', 'of x');
  await doAll('q');
  const again = await value<string>(client, 'select rerun_id from tock.rerun(array[$1::bigint])', [id]);
  await change(again, { payload: 2 });
  expect((await claim(client, 'q'))[0]?.payload).toMatchObject({ payload: 2, parents: [{ id: x, result: 'of x' }] });
});

test('U2 a claim of many is bounded by the bytes that they have, also once they were changed', async () => {
  const big = 'x'.repeat(200_000);
  const [x = ''] = await enqueue(client, 'x', [{}]);
  const ids = await enqueue(client, 'q', Array.from({ length: 120 }, () => ({ payload: 1, after: [x], gather: true })));
  await doAll('x', big);
  await promote(client);
  const bytesOf = (runs: { payload: unknown }[]) => runs.reduce((sum, r) => sum + JSON.stringify(r.payload).length, 0);
  const before = await claim(client, 'q', { limit: 1000 });
  await client.query('select tock.release($1)', [before[0]?.lease]);
  await client.query('select count(*) from tock.change($1::bigint[], $2)', [ids, '{"payload": 2}']);
  const after = await claim(client, 'q', { limit: 1000 });
  console.log('U2', before.length, bytesOf(before), after.length, bytesOf(after));
  expect(bytesOf(after)).toBeLessThanOrEqual(bytesOf(before) + 300_000);
});

test('U3 cancel_where and reprioritize_where find a task that waits for its children', async () => {
  const { id } = await waits('q', { queue: 'c', tasks: [{}] });
  await client.query("select * from tock.reprioritize_where('q', 2)").catch((e) => console.log('U3', e.message));
  await client.query("select * from tock.cancel_where('q')");
  expect(await stateOf(id)).toBe('cancelled');
  await doAll('c');
  await promote(client);
  await expectWhole(client);
});
