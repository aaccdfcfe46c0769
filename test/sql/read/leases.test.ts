import { expect, test } from 'vitest';
import { startNextSegment } from '../kernel/segment/segments.ts';
import { client, databasePerFile } from '../test_database.ts';
import {
  claim,
  complete,
  enqueue,
  expire,
  leaseOf,
  numberedTasks,
  refusal,
  release,
  value,
} from '../verbs.ts';
import { leasesPart } from './search.ts';

databasePerFile();

async function allLeases(of: { worker?: string; limit?: number }) {
  const pages = [await leasesPart(client, of)];
  for (let cursor = pages[0]?.cursor; cursor; cursor = pages.at(-1)?.cursor)
    pages.push(await leasesPart(client, { ...of, cursor }));
  return pages;
}

test('running() shows each open lease with its worker, its runs and how many are left, and never its token', async () => {
  const ids = await enqueue(client, 'q', numberedTasks(30));
  const first = await claim(client, 'q', { limit: 12, worker: 'one', lease_seconds: 60 });
  const second = await claim(client, 'q', { limit: 3, worker: 'two', lease_seconds: 30 });
  await startNextSegment(client);
  await enqueue(client, 'other', numberedTasks(1));
  const third = await claim(client, 'other', { lease_seconds: 90 });
  await complete(client, leaseOf(first), [{ id: ids[0] }, { id: ids[1], result: 1 }]);
  await release(client, leaseOf(first), [ids[2] as string]);
  const { leases, cursor } = await leasesPart(client);
  expect(cursor).toBeNull();
  const of = { queue: 'q', late: false };
  expect(leases).toMatchObject([
    { ...of, worker: 'two', runs: 3, unfinished: 3, tasks: ids.slice(12, 15) },
    { ...of, worker: 'one', runs: 12, unfinished: 9, tasks: ids.slice(3, 12) },
    { queue: 'other', late: false, worker: null, runs: 1, unfinished: 1, tasks: [third[0]?.id] },
  ]);
  for (const runs of [first, second, third])
    expect(JSON.stringify(leases)).not.toContain(leaseOf(runs));
  await expire(client, leaseOf(first));
  expect((await leasesPart(client)).leases.map(({ worker, late }) => [worker, late])).toEqual([
    ['one', true],
    ['two', false],
    [null, false],
  ]);
  expect((await leasesPart(client, { worker: 'one' })).leases).toHaveLength(1);
  expect((await leasesPart(client, { queue: 'other' })).leases).toHaveLength(1);
  expect((await leasesPart(client, { queue: 'other', worker: 'one' })).leases).toEqual([]);
  const pages = await allLeases({ limit: 1 });
  expect(pages.flatMap(({ leases }) => leases.map(({ worker }) => worker))).toEqual([
    'one',
    'two',
    null,
  ]);
  await complete(client, leaseOf(second));
  expect((await leasesPart(client, { worker: 'two' })).leases).toEqual([]);
});

test('a lease behind two thousand others is found, page by page', async () => {
  await enqueue(client, 'many', numberedTasks(2100));
  await client.query(
    "select count(*) from generate_series(1, 2050) n, tock.claim('many', case n when 2045 then 'last' else 'w' end, 1, 60 + n)",
  );
  const pages = await allLeases({ worker: 'last' });
  expect(pages.flatMap(({ leases }) => leases)).toMatchObject([{ worker: 'last' }]);
  for (const { scanned } of pages) expect(scanned).toBeLessThanOrEqual(4000);
  expect(pages).toHaveLength(2);
  expect((await leasesPart(client, { limit: 1000 })).leases).toHaveLength(1000);
});

test('an invalid queue, cursor or limit is refused by its name', async () => {
  const named = async (...values: unknown[]) =>
    (await refusal(client.query('select * from tock.running($1, null, $2, $3)', values))).detail;
  const hex = (text: string) => Buffer.from(text).toString('hex');
  expect(await named('no such!', null, 1)).toContain('queue');
  for (const no of [0, 1001, null]) expect(await named('q', null, no)).toContain('limit');
  const positions = `1|"x"|{}|[]|["2026-01-01"]|["soon", 1, 1]|["2026-01-01", 1, "x"]|
    ["2026-01-01", 99999999999, 1]|[null, null, null]|null|["\\u0000", 1, 1]|\xff`.split(/\|\s*/);
  for (const no of ['', 'x', 'abc', '0', "'", ...positions.map(hex), 'ff'])
    expect(await named('q', no, 1), no).toContain('cursor');
  expect(await value(client, 'select count(*)::int from tock.running()')).toBe(1);
});
