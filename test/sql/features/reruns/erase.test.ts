import { expect, test } from 'vitest';
import { expectInvariants } from '../../invariants.ts';
import { cancel, change, erase, states, taskInState } from '../../kernel/change/changes.ts';
import { createSegments } from '../../kernel/segment/segments.ts';
import { client, databasePerTest } from '../../test_database.ts';
import {
  claim,
  complete,
  enqueue,
  fail,
  leaseOf,
  makeDue,
  promote,
  refusal,
  task,
  value,
} from '../../verbs.ts';

databasePerTest();

const mark = 'needle-in-the-hay';
const secret = { text: mark };

/** The tables that contain a text in any column of any row. */
async function holding(text: string): Promise<string[]> {
  const tables = `select array_agg(relname::text order by relname) from pg_class
    where relnamespace = 'tock'::regnamespace and relkind = 'r'`;
  const matchingTables: string[] = [];
  for (const name of await value<string[]>(client, tables)) {
    const at = `select count(*)::int from tock.${name} t where strpos(t::text, $1) > 0`;
    if (await value<number>(client, at, [text])) matchingTables.push(name);
  }
  return matchingTables;
}

const retry = (lease: string) => fail(client, lease, { error: secret, retry_in_seconds: 0 });

test('no text of an erased task remains, and its states and times do', async () => {
  const [id] = (await enqueue(client, 'q', [{ payload: secret }], 'request')) as [string];
  await retry(leaseOf(await claim(client, 'q', { worker: 'w' })));
  const second = leaseOf(await claim(client, 'q'));
  await change(client, [id], { payload: { ...secret, n: 2 } });
  await fail(client, second, { error: secret, retry_in_seconds: 60 });
  await change(client, [id], { payload: { ...secret, n: 3 } });
  await makeDue(client, 'q');
  await promote(client);
  await change(client, [id], { payload: { ...secret, n: 4 } });
  const last = leaseOf(await claim(client, 'q'));
  await change(client, [id], { payload: { ...secret, n: 5 } });
  await complete(client, last, [{ id, result: secret }]);
  const before = await task(client, id);
  expect(before?.runs.map((run) => run.state)).toEqual(['failed', 'failed', 'superseded', 'done']);
  expect(await holding(mark)).toEqual(['results_1', 'run_overrides_1', 'runs_1']);
  expect(await erase(client, id)).toBe(4);
  expect(await holding(mark)).toEqual([]);
  expect(await task(client, id)).toEqual({
    ...before,
    payload: null,
    result: null,
    error: null,
    runs: before?.runs.map((run) => ({ ...run, result: null, error: null })),
  });
  expect(await erase(client, id)).toBe(4);
  await expectInvariants(client);
});

test("an erased task leaves no unique key and no concurrency key, and the keys' own rows stay", async () => {
  const keyed = { payload: 1, unique_key: mark, on_conflict: 'rerun' };
  const [first] = (await enqueue(client, 'q', [keyed])) as [string];
  const [last] = (await enqueue(client, 'q', [{ ...keyed, expires_in_seconds: 60 }])) as [string];
  expect(last).toBe(first);
  await promote(client);
  const runs = await claim(client, 'q');
  await complete(client, leaseOf(runs));
  const own = ['concurrency_admissions', 'concurrency_keys', 'unique_keys'];
  expect((await holding(mark)).sort()).toEqual([...own, 'runs_1'].sort());
  expect(await erase(client, first)).toBe(1);
  expect(await holding(mark)).toEqual(own);
  expect((await task(client, first))?.options).toEqual({});
  await expectInvariants(client);
});

test.each([
  ['for its time', false],
  ['at its concurrency key', true],
])(
  'an erased task that expired while it waited %s leaves none either',
  async (_, atConcurrencyKey) => {
    const limited = { concurrency_key: mark, payload: secret, expires_in_seconds: 100 };
    await enqueue(client, 'q', atConcurrencyKey ? [{ concurrency_key: mark }] : []);
    await promote(client);
    const keyed = { ...limited, unique_key: mark, delay_seconds: atConcurrencyKey ? 0 : 100 };
    const [id] = (await enqueue(client, 'q', [keyed])) as [string];
    await promote(client);
    await client.query(
      `update tock.waiting set options = options || jsonb_build_object('expires_at', now() - interval '1 s')`,
    );
    expect(await erase(client, id)).toBe(0);
    expect(await holding(mark)).not.toContain('waiting');
    await promote(client);
    expect(await value(client, 'select count(*)::int from tock.waiting')).toBe(0);
    const own = await task(client, id);
    expect(own).toMatchObject({ state: 'expired', payload: null });
    expect(Object.keys(own?.options ?? {})).toEqual(['expires_at']);
    await claim(client, 'q', { limit: 5 });
    await claim(client, 'q', { limit: 5 });
    await expectInvariants(client);
  },
);

test('an error is erased with its task, and so is a result of a task without payload', async () => {
  const dead = await taskInState(client, 'd', 'running');
  await fail(client, dead.lease, { error: secret, fatal: true });
  const done = await taskInState(client, 'e', 'running');
  await complete(client, done.lease, [{ id: done.id, result: secret }]);
  expect(await holding(mark)).toEqual(['results_1']);
  for (const { id } of [dead, done]) expect(await erase(client, id)).toBe(1);
  expect(await holding(mark)).toEqual([]);
  expect((await task(client, dead.id))?.state).toBe('dead');
  expect((await task(client, done.id))?.state).toBe('done');
});

test('a ready or waiting task that was changed and cancelled is erased', async () => {
  for (const state of ['ready', 'waiting'] as const) {
    const { id } = await taskInState(client, 'q', state);
    await change(client, [id], { payload: secret });
    await cancel(client, [id]);
    expect(await holding(mark)).toEqual(['run_overrides_1', 'runs_1']);
    expect(await erase(client, id)).toBeGreaterThan(0);
    expect(await holding(mark)).toEqual([]);
    expect(await task(client, id)).toMatchObject({ state: 'cancelled', payload: null });
  }
});

test('a task is erased by any of its ids, and no other task with it', async () => {
  await enqueue(client, 'q', [{ payload: secret }, { payload: { text: 'kept' } }]);
  const [run, other] = await claim(client, 'q', { limit: 2 });
  await fail(client, run?.lease as string, [{ id: run?.id, retry_in_seconds: 0 }]);
  const [again] = await claim(client, 'q');
  await complete(client, again?.lease as string);
  await complete(client, other?.lease as string);
  expect(await erase(client, again?.run_id as string)).toBe(2);
  expect(await holding(mark)).toEqual([]);
  expect((await task(client, other?.id as string))?.payload).toEqual({ text: 'kept' });
});

test.each([
  ['first', 1, ['results_2', 'runs_2', 'runs_3']],
  ['second', 2, ['results_1', 'runs_1', 'runs_3']],
])('a task whose %s segment is dropped is erased in the others', async (_, gone, left) => {
  const [id] = (await enqueue(client, 'q', [{ payload: secret }])) as [string];
  for (const segment of [2, 3]) {
    const lease = leaseOf(await claim(client, 'q'));
    await client.query(
      "select setval('tock.positions', e.first_position) from tock.segments e where number = $1",
      [segment],
    );
    await createSegments(client);
    await retry(lease);
  }
  const [last] = await claim(client, 'q');
  await complete(client, last?.lease as string);
  while (await value<number>(client, 'select tock.prepare_segment_drop($1)', [gone]));
  await client.query('select tock.drop_segment_tables($1)', [gone]);
  expect(await holding(mark)).toEqual(left);
  expect(await erase(client, last?.run_id as string)).toBeGreaterThan(1);
  expect(await holding(mark)).toEqual([]);
  expect(id).not.toBe(last?.run_id);
});

test('a task is erased only when it has ended, and an unknown id erases nothing', async () => {
  for (const state of states) {
    const { id } = await taskInState(client, `${state}-tasks`, state);
    if (['done', 'dead', 'cancelled'].includes(state)) {
      expect(await erase(client, id)).toBeGreaterThan(0);
      expect(await task(client, id)).toMatchObject({ state, payload: null });
    } else {
      const refused = await refusal(erase(client, id));
      expect(refused).toMatchObject({ code: 'TK409', detail: 'id' });
      expect(refused.message).toContain(state);
      expect((await task(client, id))?.payload).toBe('as sent');
    }
  }
  for (const id of ['0', '-1', '7', '9223372036854775807'])
    expect(await erase(client, id)).toBeNull();
});
