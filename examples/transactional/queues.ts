/** The queues with the types of their payloads. A worker uses the same type: createTock<Queues>(…). */
export type Queues = { receipts: { order_id: number; to: string } };
