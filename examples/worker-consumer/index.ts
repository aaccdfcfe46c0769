// A Worker that serves the HTTP API and writes one invoice for each order, even if the Worker is killed at any point.
import { createWorker, defineConsumer } from 'tock/worker';
import * as v from 'valibot';

const Order = v.object({
  order_id: v.pipe(v.number(), v.integer()),
  cents: v.pipe(v.number(), v.integer(), v.minValue(1)),
  currency: v.pipe(v.string(), v.length(3)),
});

const invoices = defineConsumer({
  queue: 'invoices',
  concurrency: 4,
  schema: Order,
  async handler({ payload }, { env, signal, fail, retryIn, completeWith }) {
    const { order_id, cents, currency } = payload;
    const response = await fetch(`${env.RATES_URL}/${currency}`, { signal });
    if (response.status === 404) fail.fatal(`there is no rate for ${currency}`);
    if (response.status === 429) retryIn(60, 'the rates are busy');
    if (!response.ok) throw new Error(`the rates service answers ${response.status}`);
    const { rate } = (await response.json()) as { rate: number };
    // One statement stores the invoice and completes the task; either both happen or neither. An order that was
    // enqueued twice gets one invoice.
    await completeWith(
      `insert into shop.invoices (order_id, euro_cents) values ($1, $2) on conflict do nothing`,
      [order_id, Math.round(cents * rate)],
    );
  },
});

const worker = createWorker({ consumers: [invoices] });

export default { fetch: worker.fetch, scheduled: worker.scheduled };
export const { Alarm } = worker;
