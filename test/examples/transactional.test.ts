import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { drizzle } from 'drizzle-orm/node-postgres';
import { Kysely, PostgresDialect } from 'kysely';
import pg from 'pg';
import postgres from 'postgres';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Database, freshDatabase, stackInfo } from '../database.ts';
import { hasPsql } from '../docs/page.ts';
import { copyExample, startProcess } from './copy.ts';

let db: Database;
let admin: pg.Client;
let folder: string;

beforeAll(async () => {
  db = await freshDatabase();
  admin = await db.connect(db.superUrl);
  const password = stackInfo().edgePassword;
  await admin.query('drop role if exists shop');
  await admin.query(`create role shop login password '${password}'`);
  folder = await copyExample('transactional', ['drizzle-orm', 'kysely', 'postgres']);
  await psql(db.superUrl, 'setup.sql');
  // A violation of this deferred constraint is found only at the commit.
  const late = 'add constraint one_each unique (customer) deferrable initially deferred';
  await admin.query(`alter table shop.orders ${late}`);
});
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await admin.query('drop owned by shop; drop role shop');
  await db.drop();
});

/** The URL of the application's role, which has only the rights that setup.sql grants. */
function as(url: string): string {
  const shop = new URL(url);
  shop.username = 'shop';
  return shop.href;
}

function psql(url: string, file: string, values: Record<string, string> = {}) {
  const assignments = Object.entries(values).flatMap(([name, value]) => ['-v', `${name}=${value}`]);
  return startProcess(['psql', '-X', '-q', ...assignments, '-f', file, url], folder, {}).ended;
}

type Place = (
  customer: string,
  total_cents: number,
) => Promise<{ order_id: number; task_id: string }>;
type Open = (url: string) => Promise<{ place: Place; end: () => Promise<void> }>;

/** Imports the example with this name, in a project with Tock installed. Returns a function that places an order. */
async function placing(name: string, client: unknown): Promise<Place> {
  const { placeOrder } = await import(join(folder, `${name}.ts`));
  return (...order) => placeOrder(client, ...order);
}

const pooled =
  (name: string, clientOf: (pool: pg.Pool) => unknown): Open =>
  async (url) => {
    const pool = new pg.Pool({ connectionString: url, max: 2 });
    return { place: await placing(name, clientOf(pool)), end: () => pool.end() };
  };

/** A stand-in for PrismaClient, whose generator is not installed. It has the documented queries and transactions. */
const prismaOf = (pool: pg.Pool) => ({
  async $transaction(work: (tx: object) => Promise<unknown>) {
    const client = await pool.connect();
    const $queryRaw = async (strings: TemplateStringsArray, ...values: unknown[]) => {
      if (!strings.raw) throw new Error('`$queryRaw` is a tag function');
      const text = strings.reduce((before, after, n) => `${before}$${n}${after}`);
      try {
        return (await client.query(text, values)).rows;
      } catch (error) {
        const { code, message } = error as pg.DatabaseError;
        throw Object.assign(new Error(message), { code: 'P2010', meta: { code, message } });
      }
    };
    try {
      await client.query('begin');
      const result = await work({ $queryRaw });
      await client.query('commit');
      return result;
    } catch (error) {
      await client.query('rollback');
      throw error;
    } finally {
      client.release();
    }
  },
});

const libraries: [name: string, open: Open][] = [
  ['Drizzle', pooled('drizzle', drizzle)],
  ['Kysely', pooled('kysely', (pool) => new Kysely({ dialect: new PostgresDialect({ pool }) }))],
  [
    'postgres.js',
    async (url) => {
      // `prepare: false`, because older versions of PgBouncer do not support prepared statements.
      const sql = postgres(url, { max: 2, prepare: false });
      return { place: await placing('postgres', sql), end: () => sql.end() };
    },
  ],
  ['Prisma', pooled('prisma', prismaOf)],
];

/** The stored orders, and the number of tasks. */
async function kept(): Promise<{ orders: unknown[]; tasks: number }> {
  const orders = await admin.query('select id, customer from shop.orders order by id desc');
  const statement = `select jsonb_array_length(tasks) as n from tock.tasks('{"queue": "receipts"}')`;
  return { orders: orders.rows, tasks: (await admin.query(statement)).rows[0].n };
}

const limitPayloads = (max_payload_bytes: number) =>
  admin.query("select tock.put_queue('receipts', $1)", [{ max_payload_bytes }]);

describe.each(['direct', 'through PgBouncer'])('%s', (way) => {
  const url = () => as(way === 'direct' ? db.edgeUrl : (db.poolUrl as string));
  const absent = () => way !== 'direct' && !db.poolUrl;

  test('SQL: an order and its task are committed together, or neither', async ({ skip }) => {
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

    const free = { customer: 'bob', total_cents: '0' };
    const refused = await psql(url(), 'enqueue.sql', free);
    expect(refused).toMatchObject({ code: 3, err: expect.stringContaining('check constraint') });
    await limitPayloads(1024);
    const large = { customer: 'x'.repeat(100_000), total_cents: '1' };
    const tooLarge = await psql(url(), 'enqueue.sql', large);
    await limitPayloads(262_144);
    expect(tooLarge).toMatchObject({ code: 3, err: expect.stringContaining('payload') });
    expect(await kept()).toEqual(after);
  });

  test.for(libraries)(
    '%s: an order and its task are committed together, or rolled back',
    async ([name, open], { skip }) => {
      skip(absent(), 'there is no PgBouncer here');
      const { place, end } = await open(url());
      const customer = `${name}, ${way}`;
      try {
        const before = await kept();
        const placed = await place(customer, 4200);
        const after = await kept();
        expect(after.orders).toEqual([{ id: String(placed.order_id), customer }, ...before.orders]);
        expect(after.tasks).toBe(before.tasks + 1);
        const statement = 'select queue, payload from tock.task(p_id => $1)';
        const { rows } = await admin.query(statement, [placed.task_id]);
        const payload = { order_id: placed.order_id, to: customer };
        expect(rows).toEqual([{ queue: 'receipts', payload }]);

        await expect(place('bob', 0)).rejects.toThrow();
        await expect(place(customer, 4200)).rejects.toThrow();
        await limitPayloads(1024);
        const refused = await place('x'.repeat(100_000), 1).catch((error: Error) => error);
        await limitPayloads(262_144);
        // Prisma's error has only the code and the message of the database's error.
        const error = { name: 'TockError', status: 422, field: 'tasks[0].payload' };
        expect(refused).toMatchObject(name === 'Prisma' ? { code: 'P2010' } : error);
        expect(await kept()).toEqual(after);
      } finally {
        await end();
      }
    },
  );
});
