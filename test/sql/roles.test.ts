import type pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Database, freshDatabase } from '../database.ts';
import { claim, complete, enqueue, leaseOf, numbered, refusal, rows } from './support.ts';

let db: Database;
let edge: pg.Client;

beforeAll(async () => {
  db = await freshDatabase();
  edge = await db.connect(db.edgeUrl);
});

afterAll(() => db.drop());

const verbs = [
  'authorize',
  'claim',
  'complete',
  'create_key',
  'enqueue',
  'enqueue_task',
  'extend',
  'fail',
  'keys_list',
  'next_wake_at',
  'put_queue',
  'queue_of_lease',
  'queue_of_task',
  'queue_stats',
  'release',
  'retry_after_seconds',
  'revoke_key',
  'task',
  'tick',
];

test('the edge may call the verbs and no other routine', async () => {
  const may = await rows<{ name: string }>(
    edge,
    `select p.proname as name from pg_proc p
     where p.pronamespace = (select oid from pg_namespace where nspname = 'tock')
       and has_function_privilege('tock_edge', p.oid, 'execute') order by 1`,
  );
  const granted = may.map((row) => row.name).filter((name) => name !== 'queue');
  expect(granted).toEqual(verbs);
});

test('the edge has no right on any table or sequence, nor may it make things', async () => {
  const may = await rows(
    edge,
    `select c.relname from pg_class c
     where c.relnamespace = (select oid from pg_namespace where nspname = 'tock')
       and c.relkind in ('r', 'p', 'v', 'm', 'S')
       and case when c.relkind = 'S' then has_sequence_privilege('tock_edge', c.oid, 'usage, select, update')
         else has_table_privilege('tock_edge', c.oid, 'select, insert, update, delete, truncate, references, trigger')
           or has_any_column_privilege('tock_edge', c.oid, 'select, insert, update, references') end`,
  );
  expect(may).toEqual([]);
  expect((await refusal(edge.query('select * from tock.runs'))).code).toBe('42501');
  expect((await refusal(edge.query('create table tock.mine (id int)'))).code).toBe('42501');
});

test('a task goes through by the edge alone', async () => {
  const [id] = await enqueue(edge, 'edge', numbered(1), 'r');
  const lease = leaseOf(await claim(edge, 'edge', { request_id: 'c' }));
  expect(await complete(edge, lease, [{ id, result: 1 }])).toMatchObject({ completed: 1 });
  await edge.query('select tock.tick()');
});

test("a verb doesn't follow the caller's search path", async () => {
  await edge.query('set search_path = pg_temp, public');
  await edge.query('create temporary table queues (name text, paused boolean)');
  await edge.query(
    "create function pg_temp.now() returns timestamptz language sql as 'select null::timestamptz'",
  );
  await enqueue(edge, 'path', numbered(1));
  expect(await claim(edge, 'path')).toHaveLength(1);
  await edge.query('reset search_path');
});

test('a task goes through a transaction pooler', async () => {
  if (!db.poolUrl) return;
  const pooled = await Promise.all(Array.from({ length: 6 }, () => db.connect(db.poolUrl)));
  await Promise.all(pooled.map((one, n) => enqueue(one, 'pooled', numbered(20, n * 20))));
  const seen = await Promise.all(
    pooled.map(async (one) => {
      const ids: unknown[] = [];
      for (;;) {
        const runs = await claim(one, 'pooled', { limit: 3 });
        if (runs.length === 0) return ids;
        ids.push(...runs.map((run) => run.payload));
        await complete(one, leaseOf(runs));
      }
    }),
  );
  expect(new Set(seen.flat()).size).toBe(120);
  expect(seen.flat()).toHaveLength(120);
});
