/** The queues, and what their tasks' payloads are; a worker takes the same type: createTock<Queues>(…). */
export type Queues = { receipts: { order_id: number; to: string } };
