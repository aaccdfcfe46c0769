// An order and its task in one transaction, with Drizzle on node-postgres. A transaction pooler may be between them.
//   await placeOrder(drizzle(new pg.Pool({ connectionString: process.env.DATABASE_URL })), 'ann@a.example', 4200);
import { sql } from 'drizzle-orm';
import type { NodePgDatabase } from 'drizzle-orm/node-postgres';
import { bigint, integer, pgSchema, text } from 'drizzle-orm/pg-core';
import { enqueueSql, type SqlTag } from 'tock/client/sql';
import type { Queues } from './queues.ts';

export const orders = pgSchema('shop').table('orders', {
  id: bigint({ mode: 'number' }).primaryKey().generatedAlwaysAsIdentity(),
  customer: text().notNull(),
  total_cents: integer().notNull(),
});

/** The database or a transaction, in the form that enqueueSql() needs. */
const asking =
  (session: Pick<NodePgDatabase, 'execute'>): SqlTag =>
  (...query) =>
    session.execute(sql(...query));

/** Stores the order and the task that writes its receipt; either both or neither. */
export function placeOrder(db: NodePgDatabase, customer: string, total_cents: number) {
  return db.transaction(async (tx) => {
    const [order] = await tx
      .insert(orders)
      .values({ customer, total_cents })
      .returning({ id: orders.id });
    const order_id = (order as { id: number }).id;
    const payload = { order_id, to: customer };
    const task_id = await enqueueSql<Queues>(asking(tx), 'receipts', payload);
    return { order_id, task_id };
  });
}
