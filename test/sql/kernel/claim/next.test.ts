import type pg from 'pg';
import { expect, test } from 'vitest';
import { client, databasePerTest, db } from '../../test_database.ts';
import {
  type Completed,
  claim,
  enqueue,
  expire,
  type Failed,
  leaseOf,
  numberedTasks,
  type Run,
  rows,
  value,
} from '../../verbs.ts';
import { begin, invariantsAfterEach } from '../sessions.ts';

databasePerTest();
invariantsAfterEach();

type Ended = Completed & Failed & { lease: string; lost: boolean };
type Options = { limit?: number; request_id?: string; own?: boolean };

async function next(
  on: pg.Client,
  queue: string,
  ends: unknown,
  { limit = 1, request_id, own = false }: Options = {},
): Promise<{ ended: Ended[]; claimed: Pick<Run, 'id' | 'lease' | 'payload'>[] }> {
  const [row] = await rows<{ ended: Ended[]; claimed: Run[] }>(
    on,
    `select n.ended, array(select json_build_object('id', c.id::text, 'lease', c.lease, 'payload', c.payload)
       from unnest(n.claimed) c) as claimed
     from tock.next(p_queue => $1, p_ends => $2, p_limit => $3, p_request_id => $4, p_own_transaction => $5) n`,
    [queue, ends === null ? null : JSON.stringify(ends), limit, request_id ?? null, own],
  );
  return row as { ended: Ended[]; claimed: Run[] };
}

const stateOf = (id: string) => value<string>(client, 'select state from tock.task($1)', [id]);
const whole = { failed: 0, dead: 0, refused: [], lost: false };

test('a task is completed and the next one claimed in one call', async () => {
  const ids = await enqueue(client, 'q', numberedTasks(3));
  let lease = leaseOf(await claim(client, 'q'));
  for (const id of [ids[1], ids[2]]) {
    const { ended, claimed } = await next(client, 'q', [{ lease }], { own: true });
    expect(ended).toEqual([{ ...whole, lease, completed: 1 }]);
    expect(claimed).toMatchObject([{ id }]);
    lease = claimed[0]?.lease as string;
  }
  expect(await next(client, 'q', [{ lease }])).toMatchObject({ claimed: [] });
  expect(await Promise.all(ids.map(stateOf))).toEqual(['done', 'done', 'done']);
});

test('a batch is completed and failed in parts, and the next batch is claimed', async () => {
  const ids = await enqueue(client, 'q', numberedTasks(6, 0, { max_attempts: 2 }));
  const lease = leaseOf(await claim(client, 'q', { limit: 3 }));
  const results = [{ id: ids[0], result: { sum: 7 } }];
  const failures = [{ id: ids[1], error: 'boom', fatal: true }, { id: ids[2] }, { id: ids[5] }];
  const ends = [{ lease, results, failures }];
  const { ended, claimed } = await next(client, 'q', ends, { limit: 3 });
  const counts = { completed: 1, failed: 2, dead: 1, refused: [ids[5]], lost: false };
  expect(ended).toEqual([{ lease, ...counts }]);
  expect(claimed.map(({ id }) => id)).toEqual([ids[3], ids[4], ids[5]]);
  expect(await stateOf(ids[1] as string)).toBe('dead');
  expect(await value(client, 'select result from tock.task($1)', [ids[0]])).toEqual({ sum: 7 });
});

test('a repeated call ends nothing twice and claims the same tasks', async () => {
  const ids = await enqueue(client, 'q', numberedTasks(4, 0, { max_attempts: 3 }));
  const lease = leaseOf(await claim(client, 'q', { limit: 2 }));
  const ends = [{ lease, results: [{ id: ids[0] }], failures: [{ id: ids[1], error: 'boom' }] }];
  const first = await next(client, 'q', ends, { request_id: 'r' });
  const other = await db.connect();
  expect(await next(other, 'q', ends, { request_id: 'r' })).toEqual(first);
  expect(first.claimed).toMatchObject([{ id: ids[2] }]);
  expect(await value(client, 'select attempt from tock.task($1)', [ids[1]])).toBe(2);
});

test('a lost lease is reported, and the claim goes on', async () => {
  const ids = await enqueue(client, 'q', numberedTasks(3, 0, { max_attempts: 5 }));
  const lost = leaseOf(await claim(client, 'q'));
  const kept = leaseOf(await claim(client, 'q'));
  await expire(client, lost);
  await client.query('select tock.reap()');
  const unknown = '00000000-0000-4000-8000-000000000000';
  const ends = [
    { lease: lost },
    { lease: unknown, results: [{ id: ids[0] }] },
    { lease: kept, results: [{ id: ids[1] }] },
  ];
  const { ended, claimed } = await next(client, 'q', ends);
  expect(ended).toEqual([
    { ...whole, lease: lost, completed: 0, lost: true },
    { ...whole, lease: unknown, completed: 0, refused: [ids[0]], lost: true },
    { ...whole, lease: kept, completed: 1 },
  ]);
  expect(claimed).toMatchObject([{ id: ids[2] }]);
});

test.each([
  ['ends', {}],
  ['ends', []],
  ['ends[0]', [5]],
  ['ends[0]', [{ lease: '{lease}', release: [] }]],
  ['ends[0].lease', [{ lease: '12345678-1234-1234-1234-1234567890ag' }]],
  ['ends[0].lease', [{ lease: '12345678-1234-1234-1234-12345678-012' }]],
  ['ends[1].results[0]', [{ lease: '{lease}' }, { lease: '{lease}', results: [{ idd: 1 }] }]],
  ['failures[0].fatal', [{ lease: '{lease}', failures: [{ id: 1, fatal: 'x' }] }]],
])('a call with a wrong %s does nothing', async (detail, ends) => {
  const [id = ''] = await enqueue(client, 'q', numberedTasks(2));
  const lease = leaseOf(await claim(client, 'q'));
  const withLease = JSON.parse(JSON.stringify(ends).replaceAll('{lease}', lease));
  await expect(next(client, 'q', withLease)).rejects.toMatchObject({ code: 'TK422', detail });
  const wrongClaim = next(client, 'q', [{ lease }], { limit: -1 });
  await expect(wrongClaim).rejects.toMatchObject({ code: 'TK422' });
  expect(await stateOf(id)).toBe('running');
});

test('a task that waited for the ended one is claimed in the same call', async () => {
  const options = { concurrency_key: 'k' };
  const [first = '', second] = await enqueue(client, 'q', numberedTasks(2, 0, options));
  await client.query('select tock.promote()');
  const lease = leaseOf(await claim(client, 'q'));
  expect(await claim(client, 'q')).toEqual([]);
  const { claimed } = await next(client, 'q', [{ lease }]);
  expect(claimed).toMatchObject([{ id: second }]);
  expect(await stateOf(first)).toBe('done');
});

test('a queue at its limit admits the next task in the call that ends one', async () => {
  await client.query(`select tock.put_queue('q', '{"max_running": 1}')`);
  const ids = await enqueue(client, 'q', numberedTasks(2));
  const lease = leaseOf(await claim(client, 'q'));
  expect(await claim(client, 'q')).toEqual([]);
  expect((await next(client, 'q', [{ lease }])).claimed).toMatchObject([{ id: ids[1] }]);
});

test('the ends do not wait for another claim of the same tasks', async () => {
  const ids = await enqueue(client, 'q', numberedTasks(3));
  const lease = leaseOf(await claim(client, 'q'));
  const other = await begin();
  await claim(other, 'q');
  const answer = { ended: [{ completed: 1 }], claimed: [] };
  expect(await next(client, 'q', [{ lease }])).toMatchObject(answer);
  expect(await stateOf(ids[0] as string)).toBe('done');
  await other.query('rollback');
  expect((await next(client, 'q', null)).claimed).toMatchObject([{ id: ids[1] }]);
});

test('a call that ends runs commits synchronously, so that a crash does not run them again', async () => {
  await enqueue(client, 'q', numberedTasks(2));
  const flush = `select current_setting('synchronous_commit') as flush from
    tock.next(p_queue => 'q', p_ends => $1, p_own_transaction => true)`;
  expect(await value(client, flush, [null])).toBe('off');
  const lease = await value(client, 'select token from tock.leases where closed_at is null');
  expect(await value(client, flush, [JSON.stringify([{ lease }])])).toBe('on');
});

test('repeatable read is refused before anything ends', async () => {
  const [id = ''] = await enqueue(client, 'q', numberedTasks(1));
  const lease = leaseOf(await claim(client, 'q'));
  await client.query('begin isolation level repeatable read');
  await expect(next(client, 'q', [{ lease }])).rejects.toMatchObject({ code: 'TK409' });
  await client.query('rollback');
  expect(await stateOf(id)).toBe('running');
});
