// Sends orders to a warehouse. Each attempt is a span in the trace of the order's request. The request to the warehouse
// continues this trace.
import { createTock } from 'tock/client';
import { stopSignal } from 'tock/client/node';
import { headers, middleware } from './tracing.mjs';

const { TOCK_URL = '', TOCK_KEY = '', TOCK_UNTIL, WAREHOUSE_URL = '' } = process.env;
const tock = createTock({ url: TOCK_URL, key: TOCK_KEY, headers });

async function send({ id, payload }, { signal }) {
  const body = JSON.stringify({ key: id, ...payload });
  const response = await fetch(WAREHOUSE_URL, { method: 'POST', headers: headers(), body, signal });
  if (!response.ok) throw new Error(`the warehouse answers ${response.status}`);
  return { status: response.status };
}

// With TOCK_UNTIL=empty the worker ends when the queue is empty. If spans are exported in batches, call the SDK's
// shutdown() after that.
await tock.work('orders', send, {
  middleware,
  ...(TOCK_UNTIL === 'empty' && { until: 'empty' }),
  concurrency: 10,
  signal: stopSignal(),
  on_error: (error, task) => console.error(`task ${task?.id ?? '-'}:`, error),
});
