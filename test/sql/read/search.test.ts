import { expect, test } from 'vitest';
import { cancel, change, erase } from '../kernel/change/changes.ts';
import { closeSegments, enqueueAndComplete, startNextSegment } from '../kernel/segment/segments.ts';
import { client, databasePerFile, db } from '../test_database.ts';
import {
  claim,
  complete,
  enqueue,
  expire,
  fail,
  leaseOf,
  makeDue,
  numberedTasks,
  pidOf,
  promote,
  reap,
  refusal,
  release,
  rows,
  task,
  waitUntilBlocked,
} from '../verbs.ts';
import { idsOf, type ListedTask, search, searchPart } from './search.ts';

databasePerFile();

const hourAgo = new Date(Date.now() - 3_600_000).toISOString();
const filters = 'ready waiting running done dead cancelled expired'.split(' ');

/** Tasks in every state: retried, moved, replaced, and changed in time or too late. */
async function life(q: string, seed: number): Promise<string[]> {
  const options = (n: number) => ({ priority: n % 3, tenant: `t${n % 3}` });
  const key = { unique_key: 'k', on_conflict: 'replace' };
  const ids: string[] = [];
  for (const tasks of [
    numberedTasks(24).map((numberedTask, n) => ({ ...numberedTask, ...options(n + seed) })),
    numberedTasks(4, 50, { delay_seconds: 500, tenant: 't0' }),
    numberedTasks(2, 60, { expires_at: hourAgo }),
    numberedTasks(1, 70, { delay_seconds: 9, expires_at: hourAgo }),
    ...[50, 50, 0].map((delay_seconds, n) => [{ payload: n, ...key, delay_seconds }]),
  ])
    ids.push(...(await enqueue(client, q, tasks)));
  await cancel(client, [ids[3], ids[25]] as string[]);
  const runs = await claim(client, q, { limit: 8, worker: `w${seed % 2}` });
  const [a, b, c, d] = runs.map(({ id }) => id) as [string, string, string, string];
  // For running tasks these changes come too late; for the others they come in time.
  await change(client, ids.slice(5, 12), { priority: 9 });
  await change(client, ids.slice(12, 14), { delay_seconds: 900 });
  await change(client, ids.slice(26, 27), { delay_seconds: 0 });
  await complete(client, leaseOf(runs), [{ id: a, result: 1 }]);
  await fail(client, leaseOf(runs), [
    { id: b, fatal: true, error: { message: 'no' } },
    { id: c, error: 'later', retry_in_seconds: 700 },
    { id: d, error: 'now', retry_in_seconds: 0 },
  ]);
  await release(client, leaseOf(runs), [runs[4]?.id as string]);
  const lost = await claim(client, q, { limit: 3, worker: 'gone' });
  await expire(client, leaseOf(lost));
  await reap(client);
  await complete(client, leaseOf(await claim(client, q, { limit: 3 })));
  await claim(client, q, { limit: 2, worker: 'still' });
  return ids;
}

test('each task is found once over several segments, by its newest run, in the state that task() shows', async () => {
  const all: string[] = [];
  for (let n = 0; n < 4; n++) {
    all.push(...(await life(n % 2 ? 'a' : 'b', n)));
    if (n === 1) await enqueueAndComplete(client, 'c', 30).then((ids) => all.push(...ids));
    await startNextSegment(client);
    await closeSegments(client);
  }
  const shown = await rows<{ id: string; state: string }>(
    client,
    'select t.id, t.state from unnest($1::bigint[]) i cross join lateral tock.task(i) t',
    [[...new Set(all)]],
  );
  const known = new Map(shown.map(({ id, state }) => [id, state]));
  for (const limit of [3, 1000]) {
    const listed = await search(client, {}, limit);
    expect(idsOf(listed), `by ${limit}`).toHaveLength(new Set(idsOf(listed)).size);
    expect(new Map(listed.map(({ id, state }) => [id, state]))).toEqual(known);
    const positions = listed.map(({ run_id }) => BigInt(run_id) >> 20n);
    expect(positions).toEqual(positions.toSorted((x, y) => Number(y - x)));
  }
  for (const state of filters) {
    const wanted = [...known].filter(([, taskState]) => taskState === state).map(([id]) => id);
    expect(wanted.length, state).toBeGreaterThan(0);
    expect(idsOf(await search(client, { state }, 5)).toSorted(), state).toEqual(wanted.toSorted());
  }
});

test('a filter returns only matching tasks, and combined filters tasks that match all', async () => {
  const listed = await search(client, {}, 1000);
  const [some] = listed.filter(({ error }) => error === 'no');
  const middle = listed[Math.floor(listed.length / 2)]?.created_at as string;
  const ways: [object, (row: ListedTask) => boolean][] = [
    [{ queue: 'a' }, (row) => row.queue === 'a'],
    [{ queue: 'nothing' }, () => false],
    [{ tenant: 't1' }, (row) => row.tenant === 't1'],
    [{ worker: 'w1' }, (row) => row.worker === 'w1'],
    [{ worker: 'still', queue: 'b' }, (row) => row.worker === 'still' && row.queue === 'b'],
    [{ error: 'no' }, (row) => row.error === 'no'],
    [{ from: middle }, (row) => row.created_at >= middle],
    [{ to: middle }, (row) => row.created_at < middle],
    [{ from: some?.created_at, to: some?.created_at }, () => false],
    [
      { queue: 'a', state: 'dead', tenant: some?.tenant },
      (row) => row.queue === 'a' && row.state === 'dead' && row.tenant === some?.tenant,
    ],
    [{ state: 'waiting', worker: 'w1' }, () => false],
  ];
  for (const [filter, lets] of ways) {
    const ids = idsOf(await search(client, filter, 7));
    expect(ids, JSON.stringify(filter)).toEqual(idsOf(listed.filter(lets)));
  }
});

test('a unique key finds the task that had it last, a concurrency key its holders and waiters', async () => {
  const held = { concurrency_key: 'x', tenant: 't' };
  const ids = await enqueue(client, 'g', numberedTasks(4, 0, held));
  const only = { payload: { n: 1 }, unique_key: 'only', tenant: 't' };
  const [keyed] = await enqueue(client, 'g', [only]);
  await promote(client);
  const runs = await claim(client, 'g', { limit: 2, worker: 'w' });
  const found = async (filter: object, limit = 100) =>
    idsOf(await search(client, { queue: 'g', ...filter }, limit));
  expect(await found({ concurrency_key: 'x' })).toEqual(ids);
  expect(await found({ concurrency_key: 'x', state: 'waiting' })).toEqual(ids.slice(1));
  expect(await found({ concurrency_key: 'x', worker: 'w' })).toEqual([ids[0]]);
  expect(await found({ concurrency_key: 'x', error: 'e' })).toEqual([]);
  // A filter counts before the limit.
  const [ninth] = await enqueue(client, 'g', [{ payload: { n: 9 }, concurrency_key: 'x' }]);
  await promote(client);
  expect(await found({ concurrency_key: 'x', payload: { n: 9 } }, 1)).toEqual([ninth]);
  for (const more of [{}, { payload: { n: 1 } }])
    expect(await found({ unique_key: 'only', ...more })).toEqual([keyed]);
  for (const none of [{ tenant: 'u' }, { worker: 'nobody' }, { queue: 'c' }, { payload: { n: 2 } }])
    expect(await found({ unique_key: 'only', ...none })).toEqual([]);
  expect(await found({ concurrency_key: 'y' })).toEqual([]);
  await complete(client, leaseOf(runs));
});

const instants = ['', 'soon', '2026-13-01', '99999999-01-01', '2026-01-01 25:00', 'x'.repeat(999)];

test.each<[field: string, filters: unknown[]]>([
  ['filter', [null, [], 1, 'x', true]],
  ['queue', [{ queue: 'no such name!' }, { concurrency_key: 'x' }, { unique_key: 'x' }]],
  ['state', [{ state: 'gone' }, { state: ['ready'] }]],
  ['rerun', [{ rerun: 'yes' }]],
  ['tenant', [{ tenant: 5 }]],
  ['other', [{ other: 'x' }]],
  ['drop table', [{ "'; drop table tock.runs; --": 'x' }]],
  ['error', [{ error: 'x', state: 'done' }]],
  ['concurrency_key', [{ queue: 'q', unique_key: 'x', concurrency_key: 'y' }]],
  ['from', instants.map((from) => ({ from }))],
  ['to', instants.map((to) => ({ to }))],
])('an invalid filter is refused by its name: %s', async (field, filters) => {
  for (const filter of filters) {
    const { detail } = await refusal(searchPart(client, filter));
    expect(detail, JSON.stringify(filter)).toContain(field);
  }
});

test('an invalid cursor or limit is refused by its name, and odd values find nothing', async () => {
  const cursors = [
    '',
    'x',
    '-1',
    'g1',
    '0'.repeat(17),
    'f'.repeat(16),
    "1'",
    ' 1',
    '5b5d'.repeat(99),
  ];
  for (const cursor of cursors)
    for (const filter of [{}, { queue: 'g', concurrency_key: 'x' }])
      expect((await refusal(searchPart(client, filter, cursor))).detail, cursor).toContain(
        'cursor',
      );
  for (const limit of [0, -1, 1001, null])
    expect((await refusal(searchPart(client, {}, null, limit as number))).detail).toContain(
      'limit',
    );
  expect(await searchPart(client, {}, '000000000001')).toMatchObject({ tasks: [], cursor: null });
  expect((await searchPart(client, {}, 'ffffffffffff', 1)).scanned).toEqual(expect.any(Number));
  for (const odd of ["'; select 1", '%', '\\', '\u{1F600}', '{}', '$q$']) {
    for (const name of ['tenant', 'worker', 'error'])
      expect(await search(client, { [name]: odd })).toEqual([]);
    expect(await search(client, { queue: 'g', concurrency_key: odd })).toEqual([]);
  }
});

test('nothing is listed twice or missing while tasks are enqueued and end', async () => {
  const stands = await enqueue(client, 'busy', numberedTasks(40, 0, { priority: 9 }));
  stands.push(...(await enqueue(client, 'busy', numberedTasks(10, 0, { delay_seconds: 900 }))));
  const other = await db.connect();
  let n = 0;
  const listed = await search(client, { queue: 'busy' }, 3, async () => {
    const later = { priority: 0, delay_seconds: (++n % 2) * 900 };
    await enqueue(other, 'busy', numberedTasks(3, 100, later));
    const runs = await claim(other, 'busy', { limit: 2 });
    if (n % 3) await complete(other, leaseOf(runs));
    else await fail(other, leaseOf(runs), { error: 'again', retry_in_seconds: 0 });
    await makeDue(other, 'none');
  });
  expect(n).toBeGreaterThan(10);
  expect(idsOf(listed)).toHaveLength(new Set(idsOf(listed)).size);
  const standing: string[] = [];
  for (const id of stands) {
    const row = await task(client, id);
    if (row?.attempt === 1 && ['waiting', 'ready'].includes(row.state)) standing.push(id);
  }
  expect(standing.length).toBeGreaterThan(10);
  expect(standing.filter((id) => !idsOf(listed).includes(id))).toEqual([]);
});

test('a task that is promoted during a search is listed once', async () => {
  await enqueueAndComplete(client, 'turn', 1);
  await enqueue(client, 'turn', numberedTasks(30, 0, { delay_seconds: 900 }));
  const other = await db.connect();
  await other.query('begin');
  await other.query('lock table tock.waiting in access exclusive mode');
  await makeDue(other, 'turn');
  // Tasks of earlier tests may also be due.
  expect(await promote(other)).toBeGreaterThanOrEqual(30);
  // The search waits for the lock on waiting. It continues when these tasks have become runs.
  const pid = await pidOf(client);
  const looking = search(client, { queue: 'turn' });
  await waitUntilBlocked(other, pid);
  await other.query('commit');
  const seen = idsOf(await looking);
  expect(seen).toHaveLength(31);
  expect(new Set(seen).size).toBe(31);
  expect(idsOf(await search(client, { queue: 'turn' })).toSorted()).toEqual(seen.toSorted());
});

test('a changed task is listed once, in its own place', async () => {
  const [first = '', put = '', last] = await enqueue(client, 'late', numberedTasks(3));
  await change(client, [first], { priority: 9 });
  await change(client, [put], { delay_seconds: 900 });
  const listed = await search(client, { queue: 'late' });
  expect(listed.map(({ id, state }) => [id, state])).toEqual([
    [put, 'waiting'],
    [first, 'ready'],
    [last, 'ready'],
  ]);
  await complete(client, leaseOf(await claim(client, 'late', { limit: 9 })));
  const ended = await search(client, { queue: 'late', state: 'done' });
  expect(idsOf(ended).toSorted()).toEqual([first, last].toSorted());
});

test('purged and erased tasks are listed in their new state', async () => {
  await enqueue(client, 'p', numberedTasks(2, 0, { tenant: 'whose' }));
  await client.query("select tock.purge_queue('p', 'ready')");
  const purged = (await search(client, { queue: 'p' })).map(({ state }) => state);
  expect(purged).toEqual(['cancelled', 'cancelled']);
  const [id] = await enqueue(client, 'p', [{ payload: 'secret' }]);
  const failure = { fatal: true, error: { message: 'secret' } };
  await fail(client, leaseOf(await claim(client, 'p')), failure);
  await erase(client, id as string);
  const [erased] = await search(client, { queue: 'p', state: 'dead' });
  expect(erased?.id).toBe(id);
  expect(JSON.stringify(erased)).not.toContain('secret');
});

test('a task that retention hides from task() is hidden from a search too', async () => {
  await client.query(`select tock.put_queue('r', '{"retention_seconds": 3600}')`);
  const [done] = await enqueue(client, 'r', [{ unique_key: 'u' }]);
  const runs = await claim(client, 'r');
  await complete(client, leaseOf(runs));
  const [expired] = await enqueue(client, 'r', [
    { delay_seconds: 99999, expires_at: '2020-01-01T00:00:00Z' },
  ]);
  const [ready] = await enqueue(client, 'r', [{}]);
  expect(idsOf(await search(client, { queue: 'r' }))).toEqual([ready, done]);
  await client.query(
    `update tock.leases set closed_at = now() - interval '2 hours', claimed_at = now() - interval '3 hours'
     where token = $1`,
    [leaseOf(runs)],
  );
  expect(await task(client, done as string)).toBeUndefined();
  expect(await task(client, expired as string)).toBeUndefined();
  expect(idsOf(await search(client, { queue: 'r' }))).toEqual([ready]);
  expect(await search(client, { queue: 'r', unique_key: 'u' })).toEqual([]);
});
