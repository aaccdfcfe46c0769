import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { createTock } from '../../client/index.ts';
import { type SqlContext, workSql } from '../../client/sql.ts';
import { type ServedApp, serveApp } from '../cli/served.ts';
import { type Database, freshDatabase } from '../database.ts';
import { value } from '../sql/verbs.ts';
import { conditionTimeout } from '../timeout.ts';
import { payloadTasks } from './service.ts';

let db: Database;
let owner: pg.Pool;
let server: ServedApp;
let key: string;

beforeAll(async () => {
  db = await freshDatabase();
  owner = new pg.Pool({ connectionString: db.url });
  owner.on('error', () => {});
  server = await serveApp(db);
  key = await value(owner, "select key from tock.create_key('k', '{enqueue,claim,read}')");
  await owner.query('create table effects (task bigint)');
});
afterAll(async () => {
  server.close();
  await owner.end();
  await db.drop();
});

/** Runs killed_worker.ts. Returns the signal that ended it, or its exit code. */
function killedWorker(kind: string, point: string, queue: string): Promise<string | number | null> {
  const script = fileURLToPath(new URL('killed_worker.ts', import.meta.url));
  const urls = { TOCK_URL: server.url, TOCK_KEY: key, DATABASE_URL: db.url };
  const child = spawn(process.execPath, [script, kind, point, queue], {
    env: { ...process.env, ...urls },
    stdio: 'inherit',
  });
  return new Promise((resolve) => child.on('exit', (code, signal) => resolve(signal ?? code)));
}

/** Waits until the dead worker's connections and transactions have ended. Then its leases expire and are reaped. */
async function takeBack(queue: string): Promise<void> {
  const open = 'select from pg_stat_activity where application_name = $1';
  const isOver = async () => (await owner.query(open, [queue])).rowCount === 0;
  await vi.waitUntil(isOver, conditionTimeout);
  await owner.query(
    `update tock.leases set leased_until = now() - interval '1 s'
     where closed_at is null and stream in (select number from tock.streams where queue = $1)`,
    [queue],
  );
  await owner.query('select tock.reap(p_sweep => true)');
}

/** How many effects each of these tasks had. */
async function effects(ids: string[]): Promise<number[]> {
  const { rows } = await owner.query('select task from effects where task = any ($1)', [ids]);
  return ids.map((id) => rows.filter(({ task }) => task === id).length);
}

let count = 0;

/** Enqueues three tasks. One worker dies at its second task; another one does the rest. */
async function killed(kind: 'http' | 'sql', point: string) {
  const queue = `killed${++count}`;
  const tock = createTock({ url: server.url, key });
  const ids = await tock.enqueueMany(queue, payloadTasks(3));
  expect(await killedWorker(kind, point, queue)).toBe('SIGKILL');
  await takeBack(queue);
  const effect = 'insert into effects (task) values ($1)';
  if (kind === 'sql') {
    const pool = new pg.Pool({ connectionString: db.url, max: 3 });
    const handle = async (task: { id: string }, { client }: SqlContext) =>
      void (await client.query(effect, [task.id]));
    await workSql(pool, queue, handle, { until: 'empty' });
    await pool.end();
  } else {
    const handle = async ({ id }: { id: string }) => void (await owner.query(effect, [id]));
    await tock.work(queue, handle, { until: 'empty' });
  }
  const states = await Promise.all(ids.map(async (id) => (await tock.task(id))?.state));
  expect(states).toEqual(['done', 'done', 'done']);
  return effects(ids);
}

const points = ['begun', 'effect', 'complete, before', 'complete, sent', 'complete, answered'];

describe('in SQL an effect is there exactly once, when a worker is killed', () => {
  test.concurrent.for([...points, 'commit, sent', 'commit, answered'])(
    '%s',
    async (point, { expect }) => {
      expect(await killed('sql', point)).toEqual([1, 1, 1]);
    },
  );
});

describe('over HTTP an effect is there at least once, when a worker is killed', () => {
  test.concurrent.for(points)('%s', async (point, { expect }) => {
    for (const times of await killed('http', point)) expect(times).toBeGreaterThanOrEqual(1);
  });
});
