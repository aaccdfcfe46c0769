import type pg from 'pg';
import { beforeEach, expect, test } from 'vitest';
import { expectInvariants } from '../invariants.ts';
import { client, databasePerTest, db } from '../test_database.ts';
import { claim, complete, drain, enqueue, leaseOf, numberedTasks, rows, value } from '../verbs.ts';
import { begin, blocked } from './sessions.ts';

// Any session may take an advisory lock with Tock's keys, and a pooler may leave one behind.
databasePerTest();
let stranger: pg.Client;

beforeEach(async () => {
  stranger = await db.connect();
  await client.query('select tock.tick()');
});

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
  const other = await begin();
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
  const beside = await begin();
  const first = await claim(beside, 'q');
  await release(stranger);
  // The foreign lock is gone, so this claim gets the stream's lock. Its lease would begin where the open one does.
  const second = await blocked(client, (on) =>
    claim(on, 'q').catch((error) => {
      expect(['23505', '40001']).toContain(error.code);
      return [];
    }),
  );
  await beside.query('commit');
  const claimed = [...first, ...(await second()), ...(await drain(client, 'q')).flat()];
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

test('locks of claims and writers are no finding', async () => {
  let going = true;
  const busy = [0, 1, 2].map(async () => {
    const on = await db.connect();
    while (going) {
      await enqueue(on, 'q', numberedTasks(1));
      for (const run of await claim(on, 'q')) await complete(on, run.lease);
    }
  });
  const findings: unknown[] = [];
  for (let looks = 0; looks < 100; looks++)
    findings.push(...(await rows(client, 'select finding from tock.doctor()')));
  going = false;
  await Promise.all(busy);
  expect(findings).toEqual([]);
});
