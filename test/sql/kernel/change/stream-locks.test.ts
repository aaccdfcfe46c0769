import type pg from 'pg';
import { expect, test } from 'vitest';
import { retryRefused } from '../../load.ts';
import { client, databasePerTest, db } from '../../test_database.ts';
import {
  claim,
  complete,
  drain,
  enqueue,
  fail,
  leaseOf,
  numberedTasks,
  refusal,
  task,
  value,
} from '../../verbs.ts';
import { begin, invariantsAfterEach, spreadTasks } from '../sessions.ts';
import { cancel, change, claimWithState, expectNothingLeft } from './changes.ts';

databasePerTest();
invariantsAfterEach();

const addTask = async (priority = 5) =>
  (await enqueue(client, 'q', [{ payload: 'sent', priority }]))[0] as string;
const ids = (runs: { id: string }[]) => runs.map((run) => run.id);

test.each(['commit', 'rollback'])(
  'a change beside a claim that holds the stream is refused as a whole (%s)',
  async (end) => {
    const [first, second] = (await enqueue(client, 'q', numberedTasks(2))) as [string, string];
    const [waits] = (await enqueue(client, 'q', [{ delay_seconds: 500 }])) as [string];
    const elsewhere = await addTask(1);
    const worker = await begin();
    expect(await cancel(client, [elsewhere])).toMatchObject([{ changed: true }]);
    const lease = leaseOf(await claim(worker, 'q'));
    const changeAll = () => change(client, [first, second, waits], { payload: 'new', priority: 7 });
    expect(await refusal(changeAll())).toMatchObject({ code: 'TK503' });
    expect(await task(client, waits)).toMatchObject({ priority: 5, payload: null });
    await worker.query(end);
    expect((await changeAll()).map((row) => row.changed)).toEqual([true, true, true]);
    const got = await claim(client, 'q', { limit: 9 });
    const running = end === 'commit';
    expect(got.map((run) => [run.id, run.payload, run.priority]).toSorted()).toEqual(
      (running ? [second] : [first, second]).map((id) => [id, 'new', 7]),
    );
    expect((await task(client, first))?.state).toBe('running');
    if (running) {
      await fail(client, lease, { retry_in_seconds: 0 });
      expect(await claim(client, 'q')).toMatchObject([{ id: first, payload: 'new', attempt: 2 }]);
    }
  },
);

test.each(['commit', 'rollback'])(
  'beside an open change, claims lease from other streams or answer busy, until its %s',
  async (end) => {
    const id = await addTask();
    const other = await addTask(7);
    const changer = await begin();
    expect(await change(changer, [id], { payload: 'new' })).toMatchObject([{ changed: true }]);
    expect(ids(await claim(client, 'q', { limit: 9 }))).toEqual([other]);
    expect((await claimWithState(client, 'q'))?.answer).toBe('busy');
    await changer.query(end);
    const got = await claim(client, 'q', { limit: 9 });
    expect(got).toMatchObject([{ id, attempt: 1, payload: end === 'commit' ? 'new' : 'sent' }]);
    await complete(client, leaseOf(got));
    await expectNothingLeft(client);
  },
);

test('a claim returns the last change that was committed before it', async () => {
  const id = await addTask();
  await client.query(
    `do $$ begin
       for n in 1 .. 300 loop
         perform tock.change(array[${id}], jsonb_build_object('payload', n, 'priority', n % 10));
       end loop;
     end $$`,
  );
  const got = (await drain(client, 'q')).flat();
  expect(got).toMatchObject([{ id, payload: 300, priority: 0 }]);
  await complete(client, leaseOf(got));
  expect((await task(client, id))?.runs).toHaveLength(301);
});

test("a change waits for a claim that continues beside another session's lock", async () => {
  const id = await addTask();
  const stranger = await db.connect();
  const stream = Number(BigInt(id) & 1048575n);
  await stranger.query('select pg_advisory_lock(tock.lock_space(), $1)', [stream]);
  const worker = await begin();
  expect(ids(await claim(worker, 'q'))).toEqual([id]);
  expect((await refusal(change(client, [id], { priority: 3 }))).code).toBe('TK503');
  await stranger.query('select pg_advisory_unlock_all()');
  expect((await refusal(change(client, [id], { priority: 3 }))).code).toBe('TK503');
  await worker.query('commit');
  expect(await change(client, [id], { priority: 3 })).toMatchObject([{ state: 'running' }]);
  await expectNothingLeft(client);
});

test('a change locks up to 1,000 streams in one call', async () => {
  const owner = await db.connect(db.superUrl);
  const held = 'select tock.hold_streams(array(select generate_series(1, $1)))';
  await owner.query(held, [1000]);
  expect(await refusal(owner.query(held, [1001]))).toMatchObject({ code: 'TK422', detail: 'ids' });
});

test('the answers of concurrent changes and cancels of the same tasks are true', async () => {
  const all = await enqueue(client, 'q', numberedTasks(40));
  const did = new Map<string, string[]>(all.map((id) => [id, []]));
  const change1 = async (n: number) => {
    const on = await db.connect();
    for (let round = 0; round < 6; round++) {
      const some = all.filter((_, i) => (i + round + n) % 3 > 0);
      const payload = `${n} ${round}`;
      for (const row of await retryRefused(() => change(on, some, { payload })))
        if (row.changed) did.get(row.id)?.push(payload);
    }
  };
  const cancelled = new Set<string>();
  const cancelOne = async () => {
    const on = await db.connect();
    for (const id of all.slice(0, 20)) {
      const [row] = await cancel(on, [id]);
      if (row?.changed) cancelled.add(id);
    }
  };
  await Promise.all([change1(0), change1(1), change1(2), cancelOne()]);
  expect(cancelled.size).toBe(20);
  const got = (await drain(client, 'q')).flat();
  expect(ids(got).toSorted()).toEqual(all.filter((id) => !cancelled.has(id)).toSorted());
  // A task has one more run for each answered change, and its payload is one of these changes.
  for (const id of all) {
    const stored = await task(client, id);
    expect(stored?.runs).toHaveLength(1 + (did.get(id)?.length ?? 0));
    if (did.get(id)?.length) expect(did.get(id)).toContain(stored?.payload);
  }
});

test('10,000 ready tasks over many streams are changed beside claimers: none is lost or doubled, answers are true', async () => {
  const all: string[] = [];
  const writers = await Promise.all([1, 2, 3].map(() => begin()));
  await client.query(`select tock.put_queue('q', '{"lanes": 16}')`);
  for (let call = 0; call < 10; call++) {
    const tasks = spreadTasks(1000, 3, 50, 4);
    all.push(...(await enqueue(writers[call % 3] as pg.Client, 'q', tasks)));
  }
  for (const writer of writers) await writer.query('commit');
  const streams = await value<number>(client, 'select count(*)::int from tock.streams');
  expect(streams).toBeGreaterThan(60);
  let going = true;
  const got = new Map<string, { payload: unknown; priority: number }[]>();
  const worker = async () => {
    const on = await db.connect();
    for (;;) {
      const last = !going;
      const runs = await claim(on, 'q', { limit: 20 });
      for (const run of runs) got.set(run.id, [...(got.get(run.id) ?? []), run]);
      if (runs.length > 0) await complete(on, leaseOf(runs));
      else if (last && (await value(on, "select (tock.claim_state('{q}')).state")) === 'empty')
        return;
    }
  };
  const workers = [1, 2, 3].map(worker);
  let refusals = 0;
  const answers = await retryRefused(
    () => change(client, all, { payload: 'new', priority: 8 }),
    () => {
      refusals++;
    },
  ).finally(() => {
    going = false;
  });
  await Promise.all(workers);
  expect(answers).toHaveLength(10_000);
  const changed = new Map(answers.map((row) => [row.id, row]));
  for (const id of all) {
    const runs = got.get(id) ?? [];
    expect(runs).toHaveLength(1);
    const answer = changed.get(id);
    const asChanged = answer?.changed === true && answer.state === 'ready';
    expect(runs[0]?.payload === 'new', `${id} ${answer?.state}`).toBe(asChanged);
    expect(runs[0]?.priority === 8).toBe(asChanged);
  }
  // The claims go on during a refusal, so fewer tasks are left to change after it.
  const changes = answers.filter((row) => row.changed).length;
  expect(changes).toBeGreaterThan(refusals > 0 ? 0 : 1000);
});
