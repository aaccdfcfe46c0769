import { createTock, Fatal, type Handler } from '../../client/index.ts';
import { api, expectOk } from '../demo/api.ts';
import { readDevEnv } from '../stack/files.ts';

type Order = { order: number; customer: string };
type Tasks = Record<string, unknown>[];

const parts = 2000;
const customers = ['ann', 'ben', 'cleo', 'dan', 'eve', 'fay', 'gus'];
const orders = (count: number, more: object = {}): Tasks =>
  Array.from({ length: count }, (_, n) => ({
    payload: { order: 1000 + n, customer: customers[n % customers.length] },
    ...more,
  }));
const randomBelow = (n: number) => Math.floor(Math.random() * n);

/** An error with a stack that names no folder of this machine. */
function failure(message: string): Error {
  const error = new Error(message);
  error.stack = `Error: ${message}\n    at deliver (mailer.ts:41:11)\n    at async run (mailer.ts:18:3)`;
  return error;
}

/** Waits, until the signal aborts at the latest. */
const pause = (ms: number, signal: AbortSignal) =>
  new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve();
    });
  });

let charges = 0;

/** An order in steps. It waits for an approval that nobody gives. */
const shipOrder: Handler<unknown> = async (_task, { step, sleep, waitFor }) => {
  await step('reserve', () => ({ warehouse: 3, shelf: 'B-17' }));
  const charge = () => {
    if (++charges < 3) throw failure('503 the card service is busy');
    return { receipt: 'ch_81', cents: 4200 };
  };
  await step('charge', charge, { max_attempts: 100, backoff_seconds: 5 });
  await sleep('cool off', { seconds: 45 });
  await waitFor('approval', 'orders/2001/approved', { timeout_seconds: 172_800 });
};

/**
 * Adds the queues of a shop over HTTP and works on them until the signal aborts: a batch of 2,000 tasks with a callback,
 * failures, dead tasks, limits, schedules, pools, and an order in steps.
 */
async function traffic(url: string, key: string, signal: AbortSignal): Promise<void> {
  const call = api(url, key);
  const put = (path: string, body: object) => expectOk(call(path, body, 'PUT'));
  const enqueue = async (queue: string, tasks: Tasks) =>
    (await expectOk<{ ids: string[] }>(call(`/v1/queues/${queue}/tasks`, { tasks }))).ids;

  await put('/v1/queues/invoices', { max_running: 4 });
  await put('/v1/queues/imports', { max_attempts: 1 });
  await put('/v1/queues/emails', { backoff_base_seconds: 20 });
  await put('/v1/queues/sms', { rate_limit: 60, rate_seconds: 60 });
  await put('/v1/queues/reports', { paused: true });

  const batch = orders(parts);
  batch.push({ payload: { send: 'month.pdf' }, depends_on: ['*'], name: 'callback' });
  await enqueue('invoices', batch);
  await enqueue('emails', [
    { payload: { to: 'ann@shop.example', subject: 'Your order', broken: true }, tenant: 'ann' },
  ]);
  await enqueue('imports', orders(30));
  await enqueue('reports', orders(25, { priority: 2 }));
  await enqueue('newsletters', orders(120, { delay_seconds: 5400 }));
  await enqueue('payments', orders(8, { concurrency_key: 'account-17' }));
  await enqueue('payments', orders(3, { concurrency_key: 'account-4' }));
  // Both slots of its worker are taken, so the holder of this key does not run.
  await enqueue('payments', orders(2, { concurrency_key: 'account-9' }));
  await enqueue('videos', [{ payload: { file: 'launch.mov', customer: 'eve' } }]);
  await enqueue('sms', orders(400));
  await enqueue('orders', [{ payload: { order: 2001, customer: 'eve', total: 4200 } }]);

  await put('/v1/schedules/nightly-report', {
    queue: 'reports',
    cron: '0 3 * * MON-FRI',
    time_zone: 'Europe/Berlin',
    overlap: 'skip',
  });
  await put('/v1/schedules/reminders', {
    queue: 'emails',
    every_seconds: 30,
    payload: { to: 'all@shop.example', subject: 'Reminder' },
  });
  for (const worker of ['van-1', 'van-2', 'van-3']) {
    await put(`/v1/pools/drivers/workers/${worker}`, { lease_seconds: 3600 });
  }
  await expectOk(call('/v1/pools/drivers/tasks', { tasks: ['trip-81', 'trip-82'] }));
  await expectOk(call('/v1/pools/drivers/take', { worker: 'van-1', lease_seconds: 3600 }));
  await expectOk(
    call('/v1/queues/newsletters/bulk-changes', {
      change: 'reprioritize',
      state: 'waiting',
      priority: 8,
      request_id: 'newsletters',
    }),
  );

  const tock = createTock({ url, key });
  const work = (
    worker: string,
    queue: string,
    concurrency: number,
    handler: (payload: Order & Record<string, unknown>) => Promise<unknown>,
  ) =>
    tock.work(
      { [queue]: async ({ payload }: { payload: unknown }) => handler(payload as Order) },
      { worker, concurrency, signal },
    );
  const workers = [
    work('printer-1', 'invoices', 4, async () => pause(3000 + randomBelow(1000), signal)),
    work('mailer-1', 'emails', 5, async ({ broken }) => {
      await pause(100 + randomBelow(400), signal);
      if (broken) throw failure('550 no such mailbox: ann@shop.example');
      if (randomBelow(12) === 0) throw failure('421 try again later');
    }),
    work('mailer-2', 'emails', 5, async ({ broken }) => {
      await pause(100 + randomBelow(800), signal);
      if (broken) throw failure('550 no such mailbox: ann@shop.example');
    }),
    work('importer', 'imports', 2, async ({ order }) => {
      await pause(200, signal);
      if (order % 3 === 0)
        throw Object.assign(new Fatal('no such column: "colour"'), { stack: '' });
      if (order % 7 === 0) throw failure('connection reset by peer');
    }),
    work('payer', 'payments', 2, async () => pause(600_000, signal)),
    work('encoder', 'videos', 1, async () => pause(3_600_000, signal)),
    tock.work('orders', shipOrder, { worker: 'shipper', signal }),
    work('texter', 'sms', 3, async () => pause(150, signal)),
    (async () => {
      while (!signal.aborted) {
        await enqueue('emails', orders(5 + randomBelow(30)));
        await pause(3000, signal);
      }
    })(),
  ];
  await Promise.all(workers);
}

const { TOCK_URL, TOCK_KEY } = readDevEnv();
if (!TOCK_URL || !TOCK_KEY) {
  process.stderr.write('No stack is running. First run: npm start\n');
  process.exit(1);
}
const stopping = new AbortController();
for (const name of ['SIGINT', 'SIGTERM'] as const) process.on(name, () => stopping.abort());
await traffic(TOCK_URL, TOCK_KEY, stopping.signal);
