import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { checkout } from '../../scripts/stack/paths.ts';
import { type Database, freshDatabase } from '../database.ts';

const bench = join(checkout, 'bench');
const peers = ['pg-boss', 'graphile-worker'];

/** The statement under `## Move what waits`. */
function statement(from: string): string {
  const page = readFileSync(join(checkout, 'docs', 'moving-in', `${from}.md`), 'utf8');
  const [, part = ''] = page.split('## Move what waits\n');
  return /^```sql\n([\s\S]*?)^```/m.exec(part)?.[1] as string;
}

let db: Database;
let owner: pg.Client;
let other: pg.Client;

beforeAll(async () => {
  db = await freshDatabase();
  owner = await db.connect();
  other = await db.connect();
  for (const name of peers) {
    await owner.query(readFileSync(join(import.meta.dirname, `peers/${name}.sql`), 'utf8'));
  }
  // The table that pgmq (https://github.com/pgmq/pgmq) creates for a queue.
  await owner.query(`create schema pgmq; create table pgmq.q_mail (
    msg_id bigint primary key generated always as identity, read_ct integer default 0 not null,
    enqueued_at timestamptz default now() not null, last_read_at timestamptz,
    vt timestamptz not null, message jsonb, headers jsonb)`);
});
afterAll(() => db.drop());

/** The states of a queue's tasks. */
async function states(queue: string): Promise<string | null> {
  const all = `select string_agg(i ->> 'state', ' ' order by i ->> 'state') as states
    from tock.tasks(p_filter => $1) t cross join jsonb_array_elements(t.tasks) i`;
  return (await owner.query(all, [{ queue }])).rows[0].states;
}

/** The tasks of a concurrency key. */
async function atKey(queue: string, key: string) {
  const text = 'select * from tock.concurrency_keys(p_queue => $1, p_concurrency_key => $2)';
  return (await owner.query(text, [queue, key])).rows;
}

/** The tasks of a queue as a claim returns them, by priority. */
async function claimed(queue: string) {
  const text = `select payload, priority, max_attempts from tock.claim(p_queue => $1, p_worker => 'w', p_limit => 100)`;
  return (await owner.query(text, [queue])).rows;
}

test('jobs of pg-boss become tasks, except active, ended and blocked ones', async () => {
  await owner.query(`insert into pgboss.job (name, data, priority, retry_limit, retry_count, state, start_after, blocked, blocking)
    values ('mail/out', '{"n": 1}', 0, 2, 0, 'created', now(), false, false),
      ('mail/out', '{"n": 2}', 3, 4, 3, 'retry', now(), false, false),
      ('mail/out', '{"n": 3}', -99, 0, 0, 'created', now(), false, false),
      ('mail/out', '{"n": 4}', 0, 2, 0, 'created', now() + interval '1 hour', false, false),
      ('mail/out', '{"n": 5}', 0, 2, 0, 'active', now(), false, false),
      ('mail/out', '{"n": 6}', 0, 2, 0, 'completed', now(), false, false),
      ('mail/out', '{"n": 7}', 0, 2, 0, 'created', now(), true, false),
      ('mail/out', '{"n": 8}', 0, 2, 0, 'created', now(), false, true),
      ('__pgboss__send-it', null, 0, 2, 0, 'created', now(), false, false),
      ('mail/out', '{"n": 9}', 0, 2, 0, 'created', now(), false, false)`);
  // A worker of pg-boss has fetched this job, so it must not be moved.
  await other.query('begin');
  await other.query(`update pgboss.job set state = 'active' where data = '{"n": 9}'`);
  const { rows } = await owner.query(statement('pg-boss'));
  await other.query('commit');
  expect(rows).toEqual([{ name: 'mail/out', moved: 4 }]);
  expect((await owner.query(statement('pg-boss'))).rows).toEqual([]);
  expect(await claimed('mail-out')).toEqual([
    { payload: { n: 2 }, priority: 2, max_attempts: 2 },
    { payload: { n: 1 }, priority: 5, max_attempts: 3 },
    { payload: { n: 3 }, priority: 9, max_attempts: 1 },
  ]);
  expect(await states('mail-out')).toBe('running running running waiting');
  expect((await owner.query('select from pgboss.job')).rowCount).toBe(6);
});

test('if one task is refused, no job is moved', async () => {
  await owner.query(
    `insert into pgboss.job (name, data) values ('big', '1'), ('big', to_jsonb(repeat('x', 300000)))`,
  );
  await expect(owner.query(statement('pg-boss'))).rejects.toMatchObject({ code: 'TK422' });
  const left = await owner.query("select from pgboss.job where name = 'big'");
  expect(left.rowCount).toBe(2);
  expect(await states('big')).toBe(null);
});

test('jobs of graphile-worker become tasks with their keys, except locked and exhausted ones', async () => {
  await owner.query(`insert into graphile_worker._private_tasks (identifier) values ('send'), ('index');
    insert into graphile_worker._private_job_queues (queue_name, locked_at) values ('user 7', null), ('user 8', now());
    insert into graphile_worker._private_jobs (task_id, job_queue_id, payload, priority, run_at, attempts, max_attempts, key, locked_at)
    values (1, null, '{"n": 1}', 0, now(), 0, 25, null, null), (1, null, '{"n": 2}', -2, now(), 5, 25, null, null),
      (1, null, '{"n": 3}', 0, now(), 25, 25, null, null), (1, null, '{"n": 4}', 0, now(), 1, 25, null, now()),
      (1, 2, '{"n": 5}', 0, now(), 0, 25, null, null),
      (2, 1, '{"n": 6}', 0, now(), 0, 25, 'doc 6', null), (2, 1, '{"n": 7}', 0, now(), 0, 25, null, null),
      (2, null, '{"n": 8}', 0, now() + interval '1 hour', 0, 25, null, null),
      (2, null, '{"n": 9}', 0, now(), 0, 25, 'doc 9', null)`);
  const had = '[{"payload": {"n": "ours"}, "unique_key": "doc 9"}]';
  await owner.query(`select tock.enqueue('index', $1)`, [had]);
  const { rows } = await owner.query(statement('graphile-worker'));
  expect(rows.toSorted((a, b) => b.moved - a.moved)).toEqual([
    { identifier: 'index', moved: 4 },
    { identifier: 'send', moved: 2 },
  ]);
  expect(await claimed('send')).toEqual([
    { payload: { n: 2 }, priority: 3, max_attempts: 20 },
    { payload: { n: 1 }, priority: 5, max_attempts: 25 },
  ]);
  await owner.query('select tock.promote(p_sweep => true)');
  expect(await atKey('index', 'user 7')).toHaveLength(1);
  expect((await claimed('index')).map(({ payload }) => payload.n).sort()).toEqual([6, 'ours']);
  const left = await owner.query('select payload from graphile_worker._private_jobs order by id');
  expect(left.rows.map(({ payload }) => payload.n)).toEqual([3, 4, 5]);
});

test('messages of pgmq become tasks, also delayed ones, except those that are being read', async () => {
  await owner.query(`insert into pgmq.q_mail (read_ct, vt, message, headers) values (0, now(), '{"n": 1}', null),
    (3, now() - interval '1 minute', '{"n": 2}', null), (1, now() + interval '1 minute', '{"n": 3}', null),
    (0, now() + interval '1 hour', '{"n": 4}', null), (0, now(), 'null', '{"x-pgmq-group": "user 7", "Other": 1}')`);
  expect((await owner.query(statement('pgmq'))).rows).toEqual([{ moved: 4 }]);
  expect((await owner.query(statement('pgmq'))).rows).toEqual([]);
  await owner.query('select tock.promote(p_sweep => true)');
  expect(await states('mail')).toBe('ready ready ready waiting');
  expect(await atKey('mail', 'user 7')).toHaveLength(1);
  expect((await owner.query('select message from pgmq.q_mail')).rows).toEqual([
    { message: { n: 3 } },
  ]);
});

/** The columns of a schema's tables. */
async function columns(client: pg.Client, tables: string[]) {
  const text = `select c.table_schema || '.' || c.table_name as of, c.column_name, c.udt_name
    from information_schema.columns c where c.table_schema || '.' || c.table_name = any ($1)
    order by 1, c.ordinal_position`;
  return (await client.query(text, [tables])).rows;
}

test('the tables of these tests are those that the packages create', async ({ skip }) => {
  skip(!existsSync(join(bench, 'node_modules/pg-boss')), 'npm run bench installs the packages');
  const own = await freshDatabase();
  try {
    const made = await own.connect();
    for (const name of peers) {
      const env = { ...process.env, BENCH_WORK: JSON.stringify({ url: own.url, name }) };
      await promisify(execFile)(process.execPath, [join(bench, 'peers/schema.ts')], { env });
    }
    const jobs = ['_private_jobs', '_private_job_queues', '_private_tasks'];
    const tables = ['pgboss.job', ...jobs.map((name) => `graphile_worker.${name}`)];
    const actual = await columns(made, tables);
    expect(actual.length).toBeGreaterThan(50);
    expect(actual).toEqual(await columns(owner, tables));
    // Each product documents these calls for SQL.
    await made.query(`select pgboss.create_queue('q', '{"policy": "standard"}')`);
    await made.query(`insert into pgboss.job (name, data) values ('q', '{"n": 1}')`);
    await made.query(
      `select graphile_worker.add_job('t', '{"n": 2}', queue_name => 's', job_key => 'k')`,
    );
    expect((await made.query(statement('pg-boss'))).rows).toEqual([{ name: 'q', moved: 1 }]);
    expect((await made.query(statement('graphile-worker'))).rows).toEqual([
      { identifier: 't', moved: 1 },
    ]);
    const text = `select payload from tock.claim(p_queue => $1, p_worker => 'w')`;
    expect((await made.query(text, ['q'])).rows).toEqual([{ payload: { n: 1 } }]);
  } finally {
    await own.drop();
  }
});
