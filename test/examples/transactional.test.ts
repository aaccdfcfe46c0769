import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { drizzle } from 'drizzle-orm/node-postgres';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Database, freshDatabase, stackInfo } from '../database.ts';
import { hasPsql } from '../docs/page.ts';
import { copied, examples, started } from './copied.ts';

const { enqueue, placeOrder }: typeof import('../../examples/transactional/drizzle.ts') =
  await import(join(examples, 'transactional', 'drizzle.ts'));

let db: Database;
let admin: pg.Client;
let folder: string;

beforeAll(async () => {
  db = await freshDatabase();
  admin = await db.connect(db.superUrl);
  const password = stackInfo().edgePassword;
  await admin.query('drop role if exists shop');
  await admin.query(`create role shop login password '${password}'`);
  folder = await copied('transactional');
  await psql(db.superUrl, 'setup.sql');
  // Found at the commit, when all else is done.
  const late = 'add constraint one_each unique (customer) deferrable initially deferred';
  await admin.query(`alter table shop.orders ${late}`);
});
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await admin.query('drop owned by shop; drop role shop');
  await db.drop();
});

/** The application's way in, with no more rights than setup.sql gives it. */
function as(url: string): string {
  const shop = new URL(url);
  shop.username = 'shop';
  return shop.href;
}

function psql(url: string, file: string, values: Record<string, string> = {}) {
  const given = Object.entries(values).flatMap(([name, value]) => ['-v', `${name}=${value}`]);
  return started(['psql', '-X', '-q', ...given, '-f', file, url], folder, {}).ended;
}

/** Orders, and how many tasks there are. */
async function kept(): Promise<{ orders: unknown[]; tasks: number }> {
  const orders = await admin.query('select id, customer from shop.orders order by id desc');
  const asked = `select jsonb_array_length(tasks) as n from tock.tasks('{"queue": "receipts"}')`;
  return { orders: orders.rows, tasks: (await admin.query(asked)).rows[0].n };
}

describe.each(['direct', 'through PgBouncer'])('%s', (way) => {
  const url = () => as(way === 'direct' ? db.edgeUrl : (db.poolUrl as string));
  const absent = () => way !== 'direct' && !db.poolUrl;

  test('SQL: an order and its task are committed together', async ({ skip }) => {
    skip(!(await hasPsql()), 'there is no psql');
    skip(absent(), 'there is no PgBouncer here');
    const before = await kept();
    const customer = `O'Hara"\\ & sons, ${way}`;
    const { code, out, err } = await psql(url(), 'enqueue.sql', { customer, total_cents: '4200' });
    expect({ code, err }).toEqual({ code: 0, err: '' });
    const [, order, task] = /^order (\d+), task (\d+)\n$/.exec(out) ?? [];
    const after = await kept();
    expect(after.orders).toEqual([{ id: order, customer }, ...before.orders]);
    expect(after.tasks).toBe(before.tasks + 1);
    const { rows } = await admin.query('select payload from tock.task(p_id => $1)', [task]);
    expect(rows[0].payload).toEqual({ order_id: Number(order), to: customer });
  });

  test('SQL: an order that is refused has no task', async ({ skip }) => {
    skip(!(await hasPsql()), 'there is no psql');
    skip(absent(), 'there is no PgBouncer here');
    const before = await kept();
    const { code, err } = await psql(url(), 'enqueue.sql', { customer: 'bob', total_cents: '0' });
    expect(code).toBe(3);
    expect(err).toContain('check constraint');
    expect(await kept()).toEqual(before);
  });

  test('SQL: a task that is refused takes its order with it', async ({ skip }) => {
    skip(!(await hasPsql()), 'there is no psql');
    skip(absent(), 'there is no PgBouncer here');
    const before = await kept();
    const customer = 'x'.repeat(100_000);
    await admin.query(`select tock.put_queue('receipts', '{"max_payload_bytes": 1024}')`);
    const { code, err } = await psql(url(), 'enqueue.sql', { customer, total_cents: '1' });
    await admin.query(`select tock.put_queue('receipts', '{"max_payload_bytes": 262144}')`);
    expect(code).toBe(3);
    expect(err).toContain('payload');
    expect(await kept()).toEqual(before);
  });

  test('Drizzle: an order and its task are committed together, or rolled back', async ({
    skip,
  }) => {
    skip(absent(), 'there is no PgBouncer here');
    const pool = new pg.Pool({ connectionString: url(), max: 2 });
    const orm = drizzle(pool);
    try {
      const before = await kept();
      const placed = await placeOrder(orm, way, 4200);
      const after = await kept();
      expect(after.orders).toEqual([
        { id: String(placed.order_id), customer: way },
        ...before.orders,
      ]);
      expect(after.tasks).toBe(before.tasks + 1);
      const asked = 'select queue, payload from tock.task(p_id => $1)';
      const { rows } = await admin.query(asked, [placed.task_id]);
      expect(rows).toEqual([
        { queue: 'receipts', payload: { order_id: placed.order_id, to: way } },
      ]);

      await expect(placeOrder(orm, 'bob', 0)).rejects.toThrow();
      await expect(placeOrder(orm, way, 4200)).rejects.toThrow();
      expect(await kept()).toEqual(after);
    } finally {
      await pool.end();
    }
  });

  test('Drizzle: an enqueue that is repeated with its request id gives the same task', async ({
    skip,
  }) => {
    skip(absent(), 'there is no PgBouncer here');
    const pool = new pg.Pool({ connectionString: url() });
    const options = { request_id: `again ${way}`, delay_seconds: 60, priority: 1 };
    const again = () => enqueue(drizzle(pool), 'receipts', { order_id: 1, to: 'a' }, options);
    const id = await again();
    expect(await again()).toBe(id);
    await pool.end();
    const asked = 'select state, priority from tock.task(p_id => $1)';
    const { rows } = await admin.query(asked, [id]);
    expect(rows).toEqual([{ state: 'waiting', priority: 1 }]);
  });
});
