import type pg from 'pg';
import { afterAll, beforeEach, expect, test } from 'vitest';
import { type Database, freshDatabase } from '../../database.ts';
import { expectInvariants } from '../invariants.ts';
import {
  claim,
  complete,
  drain,
  enqueue,
  leaseOf,
  numberedTasks,
  pidOf,
  rows,
  value,
  waitUntilBlocked,
} from '../verbs.ts';

// Any session may take an advisory lock with Tock's keys, and a pooler may leave one behind.
let db: Database;
let client: pg.Client;
let stranger: pg.Client;
const used: Database[] = [];

beforeEach(async () => {
  db = await freshDatabase();
  used.push(db);
  client = await db.connect();
  stranger = await db.connect();
  await client.query('select tock.tick()');
});

afterAll(() => Promise.all(used.map((database) => database.drop())));

const streamOf = (id: string) => Number(BigInt(id) & 1048575n);
const session = (on: pg.Client, key: number) =>
  on.query('select pg_advisory_lock(tock.lock_space(), $1)', [key]);
const release = (on: pg.Client) => on.query('select pg_advisory_unlock_all()');

async function answered(on: pg.Client, limit = 1) {
  await on.query('begin');
  const runs = await claim(on, 'q', { limit });
  const answer = runs.length
    ? 'found'
    : await value<string>(on, "select (tock.claim_state('{q}')).state");
  await on.query('commit');
  return { ids: runs.map((run) => run.id), answer };
}

test("another session's lock on a stream keeps no task from being claimed", async () => {
  const ids = await enqueue(client, 'q', numberedTasks(3));
  await session(stranger, streamOf(ids[0] as string));
  expect(await answered(client, 2)).toEqual({ ids: ids.slice(0, 2), answer: 'found' });
  expect(await answered(client)).toEqual({ ids: ids.slice(2), answer: 'found' });
  expect(await answered(client)).toEqual({ ids: [], answer: 'empty' });
  await expectInvariants(client);
});

test('claims beside a foreign lock still exclude each other, and the second one answers busy', async () => {
  const ids = await enqueue(client, 'q', numberedTasks(3));
  await session(stranger, streamOf(ids[0] as string));
  const other = await db.connect();
  await other.query('begin');
  expect((await claim(other, 'q')).map((run) => run.id)).toEqual(ids.slice(0, 1));
  expect(await answered(client)).toEqual({ ids: [], answer: 'busy' });
  await other.query('commit');
  expect(await answered(client, 5)).toEqual({ ids: ids.slice(1), answer: 'found' });
  await expectInvariants(client);
});

test('a foreign lock in an open transaction looks like a claim: busy, not empty', async () => {
  const ids = await enqueue(client, 'q', numberedTasks(1));
  await stranger.query('begin');
  await session(stranger, streamOf(ids[0] as string));
  expect(await answered(client)).toEqual({ ids: [], answer: 'busy' });
  await stranger.query('commit');
  expect(await answered(client)).toEqual({ ids, answer: 'found' });
});

test('two claims of one stream, after a foreign lock on it has ended, lease no run twice', async () => {
  const ids = await enqueue(client, 'q', numberedTasks(2));
  await session(stranger, streamOf(ids[0] as string));
  const beside = await db.connect();
  await beside.query('begin');
  const first = await claim(beside, 'q');
  await release(stranger);
  const pid = await pidOf(client);
  // The foreign lock is gone, so this claim gets the stream's lock. Its lease would begin where the open one does.
  const second = claim(client, 'q').then(
    (runs) => runs,
    (error) => {
      expect(['23505', '40001']).toContain(error.code);
      return [];
    },
  );
  await waitUntilBlocked(await db.connect(), pid);
  await beside.query('commit');
  const claimed = [...first, ...(await second), ...(await drain(client, 'q')).flat()];
  expect(claimed.map((run) => run.id)).toEqual(ids);
  await expectInvariants(client);
});

test('a foreign lock on a slot or a stream stops no writer, and deactivation proceeds elsewhere', async () => {
  await session(stranger, 1073741824);
  const ids = await enqueue(client, 'q', numberedTasks(2));
  expect(await value(client, 'select slot::integer from tock.streams')).toBe(1);
  const runs = await claim(client, 'q', { limit: 5 });
  expect(runs.map((run) => run.id)).toEqual(ids);
  await complete(client, leaseOf(runs));
  expect(await value(client, 'select tock.deactivate_streams()')).toBe(1);
});

test('doctor() names the holder of a foreign lock, until that has ended', async () => {
  const findings = () =>
    rows<{ finding: string; detail: string; hint: string }>(
      client,
      "select * from tock.doctor() where finding = 'a foreign session holds a lock'",
    );
  const [id = ''] = await enqueue(client, 'q', numberedTasks(1));
  expect(await findings()).toEqual([]);
  await session(stranger, streamOf(id));
  await session(stranger, 1073741824 + 7);
  const pid = await pidOf(stranger);
  const [finding, ...others] = await findings();
  expect(others).toEqual([]);
  expect(finding?.detail).toContain(String(pid));
  expect(finding?.detail).toContain('2 of');
  expect(finding?.hint).toContain(`pg_terminate_backend(${pid})`);
  await release(stranger);
  expect(await findings()).toEqual([]);
});

test('locks of claims and writers are no finding', async () => {
  let going = true;
  const busy = [0, 1, 2].map(async () => {
    const on = await db.connect();
    while (going) {
      await enqueue(on, 'q', numberedTasks(1));
      for (const run of await claim(on, 'q')) await complete(on, run.lease);
    }
  });
  const findings = new Set<string>();
  for (let looks = 0; looks < 100; looks++) {
    for (const { finding } of await rows<{ finding: string }>(
      client,
      'select finding from tock.doctor()',
    )) {
      findings.add(finding);
    }
  }
  going = false;
  await Promise.all(busy);
  expect([...findings]).toEqual([]);
});
