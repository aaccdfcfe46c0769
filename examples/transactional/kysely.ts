// An order and its task in one transaction, with Kysely.
//   const dialect = new PostgresDialect({ pool: new pg.Pool({ connectionString: process.env.DATABASE_URL }) });
//   await placeOrder(new Kysely<Database>({ dialect }), 'ann@a.example', 4200);
import { type Generated, type Kysely, sql } from 'kysely';
import { enqueueSql } from 'tock/client/sql';
import type { Queues } from './queues.ts';

export type Database = {
  'shop.orders': { id: Generated<string>; customer: string; total_cents: number };
};

/** Stores the order and the task that writes its receipt: both, or neither. */
export function placeOrder(db: Kysely<Database>, customer: string, total_cents: number) {
  return db.transaction().execute(async (trx) => {
    const order = await trx
      .insertInto('shop.orders')
      .values({ customer, total_cents })
      .returning('id')
      .executeTakeFirstOrThrow();
    const order_id = Number(order.id);
    const payload = { order_id, to: customer };
    const task_id = await enqueueSql<Queues>(
      (...query) => sql(...query).execute(trx),
      'receipts',
      payload,
    );
    return { order_id, task_id };
  });
}
