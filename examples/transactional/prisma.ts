// An order and its task in one transaction, with Prisma.
//   await placeOrder(new PrismaClient({ adapter }), 'ann@a.example', 4200);
// If your schema has the model, use tx.order.create() instead of the insert.
import { enqueueSql } from 'tock/client/sql';
import type { Queues } from './queues.ts';

/** The part of a PrismaClient that placeOrder() needs. */
type Transaction = {
  $queryRaw<T>(strings: TemplateStringsArray, ...values: unknown[]): PromiseLike<T>;
};
type Prisma = { $transaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T> };

/** Stores the order and the task that writes its receipt: both, or neither. */
export function placeOrder(prisma: Prisma, customer: string, total_cents: number) {
  return prisma.$transaction(async (tx) => {
    const [order] = await tx.$queryRaw<[{ id: bigint }]>`
      insert into shop.orders (customer, total_cents) values (${customer}, ${total_cents}) returning id`;
    const order_id = Number(order.id);
    const payload = { order_id, to: customer };
    const task_id = await enqueueSql<Queues>(
      (...query) => tx.$queryRaw(...query),
      'receipts',
      payload,
    );
    return { order_id, task_id };
  });
}
