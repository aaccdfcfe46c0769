// An order and its task in one transaction, with postgres.js, whose `sql` fits enqueueSql() as it is.
//   await placeOrder(postgres(process.env.DATABASE_URL), 'ann@a.example', 4200);
// Through a transaction pooler that keeps no prepared statements: postgres(url, { prepare: false }).
import type { Sql } from 'postgres';
import { enqueueSql } from 'tock/client/sql';
import type { Queues } from './queues.ts';

/** Stores the order and the task that writes its receipt: both, or neither. */
export function placeOrder(db: Sql, customer: string, total_cents: number) {
  return db.begin(async (sql) => {
    const [order] = await sql`
      insert into shop.orders (customer, total_cents) values (${customer}, ${total_cents}) returning id`;
    const order_id = Number(order?.id);
    const task_id = await enqueueSql<Queues>(sql, 'receipts', { order_id, to: customer });
    return { order_id, task_id };
  });
}
