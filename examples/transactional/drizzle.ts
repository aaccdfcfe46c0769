// An order and its task in one transaction, with Drizzle on node-postgres, through a transaction pooler too.
//   await placeOrder(drizzle(new pg.Pool({ connectionString: process.env.DATABASE_URL })), 'ann@a.example', 4200);
import { sql } from 'drizzle-orm';
import type { NodePgDatabase } from 'drizzle-orm/node-postgres';
import { bigint, integer, pgSchema, text } from 'drizzle-orm/pg-core';
import type { Repeatable, TaskOptions } from 'tock/client';

/** The queues, and what their tasks' payloads are; a worker takes the same type: createTock<Queues>(…). */
export type Queues = { receipts: { order_id: number; to: string } };

export const orders = pgSchema('shop').table('orders', {
  id: bigint({ mode: 'number' }).primaryKey().generatedAlwaysAsIdentity(),
  customer: text().notNull(),
  total_cents: integer().notNull(),
});

/** The database, or a transaction of it. */
type Session = Pick<NodePgDatabase, 'execute'>;

/** Adds a task in the caller's transaction and returns its id. */
export async function enqueue<N extends keyof Queues & string>(
  session: Session,
  queue: N,
  payload: Queues[N],
  { request_id, ...options }: TaskOptions & Repeatable = {},
): Promise<string> {
  const tasks = JSON.stringify([{ ...options, payload }]);
  const { rows } = await session.execute<{ id: string }>(sql`
    select (tock.enqueue(
      p_queue => ${queue}, p_tasks => ${tasks}, p_request_id => ${request_id ?? null}))[1]::text as id`);
  return (rows[0] as { id: string }).id;
}

/** The order and the task that writes its receipt: both, or neither. */
export function placeOrder(db: NodePgDatabase, customer: string, total_cents: number) {
  return db.transaction(async (tx) => {
    const [order] = await tx
      .insert(orders)
      .values({ customer, total_cents })
      .returning({ id: orders.id });
    const order_id = (order as { id: number }).id;
    const task_id = await enqueue(tx, 'receipts', { order_id, to: customer });
    return { order_id, task_id };
  });
}
