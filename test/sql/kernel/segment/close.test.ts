import type pg from 'pg';
import { afterAll, beforeEach, expect, test } from 'vitest';
import { type Database, freshDatabase } from '../../../database.ts';
import { expectInvariants } from '../../invariants.ts';
import { claim, complete, drain, enqueue, leaseOf, numberedTasks, value } from '../../verbs.ts';
import { createSegments } from './segments.ts';

let db: Database;
let client: pg.Client;
const used: Database[] = [];

beforeEach(async () => {
  db = await freshDatabase();
  used.push(db);
  client = await db.connect();
  await enqueue(client, 'q', numberedTasks(3));
  await work();
  // The newest lease of a stream that is awake would keep the segment open.
  await rest();
});

afterAll(() => Promise.all(used.map((database) => database.drop())));

async function work(): Promise<string[]> {
  const claims = await drain(client, 'q');
  for (const runs of claims) await complete(client, leaseOf(runs));
  return claims.flat().map((run) => run.id);
}

async function pass(): Promise<void> {
  await client.query(
    `select setval('tock.positions', (select e.end_position from tock.segments e
       where e.end_position > s.last_value order by e.number limit 1))
     from tock.positions s`,
  );
  await createSegments(client);
}

async function rest(): Promise<void> {
  await client.query('select tock.deactivate_streams()');
  await createSegments(client);
}
const settled = () =>
  value<number>(client, 'select count(*)::int from tock.segments where closed_at is not null');

/** Moves the streams in use on to the new segment. */
async function continueLoad(): Promise<void> {
  for (let round = 0; round < 2; round++) {
    await enqueue(client, 'q', numberedTasks(2));
    await work();
  }
  await rest();
}

test('a segment is closed once it has ended and every stream has moved on', async () => {
  await rest();
  expect(await settled()).toBe(0);
  await pass();
  await continueLoad();
  await rest();
  expect(await settled()).toBe(1);
  expect(await enqueue(client, 'q', numberedTasks(2))).toEqual(await work());
  await expectInvariants(client);
});

test('a segment with unclaimed runs is not closed', async () => {
  const ids = await enqueue(client, 'backlog', numberedTasks(10));
  await complete(client, leaseOf(await claim(client, 'backlog', { limit: 3 })));
  await pass();
  await continueLoad();
  expect(await settled()).toBe(0);
  const left = await claim(client, 'backlog', { limit: 9 });
  expect(left.map((run) => run.id)).toEqual(ids.slice(3));
  await continueLoad();
  // No run is unclaimed, but a lease is open.
  expect(await settled()).toBe(0);
  await complete(client, leaseOf(left));
  await continueLoad();
  expect(await settled()).toBe(1);
  await expectInvariants(client);
});

test('a segment is not closed while a transaction that wrote to it is open', async () => {
  const writer = await db.connect();
  await writer.query('begin');
  const ids = await enqueue(writer, 'new', numberedTasks(2));
  await pass();
  for (let round = 0; round < 3; round++) await continueLoad();
  expect(await settled()).toBe(0);
  await writer.query('commit');
  for (let round = 0; round < 2; round++) await continueLoad();
  const runs = await claim(client, 'new', { limit: 9 });
  expect(runs.map((run) => run.id)).toEqual(ids);
  await complete(client, leaseOf(runs));
  for (let round = 0; round < 2; round++) await continueLoad();
  expect(await settled()).toBe(1);
  await expectInvariants(client);
});

test('a segment is not closed while a transaction that wrote to it is prepared', async () => {
  const writer = await db.connect();
  await writer.query('begin');
  const ids = await enqueue(writer, 'new', numberedTasks(2));
  await pass();
  await continueLoad();
  await writer.query(`prepare transaction '${db.name}'`);
  for (let round = 0; round < 3; round++) await continueLoad();
  expect(await settled()).toBe(0);
  await client.query(`commit prepared '${db.name}'`);
  expect((await drain(client, 'new')).flat().map((run) => run.id)).toEqual(ids);
  await expectInvariants(client);
});

test('tasks in a segment that ended long ago are claimed once their transaction commits', async () => {
  const writer = await db.connect();
  await writer.query('begin');
  const ids = await enqueue(writer, 'q', numberedTasks(2));
  for (let segment = 0; segment < 4; segment++) {
    await pass();
    await continueLoad();
  }
  await writer.query('commit');
  expect(await work()).toEqual(ids);
  await expectInvariants(client);
});

test('a snapshot older than the last task of a segment does not close the segment', async () => {
  const old = await db.connect();
  await old.query('begin isolation level repeatable read');
  await old.query('select count(*) from tock.streams');
  const ids = await enqueue(client, 'q', numberedTasks(2));
  await client.query(
    "select setval('tock.positions', (select end_position from tock.segments where number = 1))",
  );
  await createSegments(old);
  await old.query('commit');
  expect(await settled()).toBe(0);
  expect(await work()).toEqual(ids);
  await expectInvariants(client);
});
