import { runWorkers } from './run_workers.ts';
import type { Runner } from './runner.ts';

/** Four processes claim over HTTP. The demo kills one of them while it certainly holds a lease. */
export const byWorker: Runner = async (stack, call, { root, enqueue }, stopping) => {
  const queue = `demo-${new Date().toISOString().replace(/\D/g, '').slice(0, 17)}`;
  const ids = await enqueue(call, queue);
  process.stdout.write('Four worker processes claim them over HTTP.\n');
  const place = { url: stack.TOCK_URL, key: stack.TOCK_KEY, queue, root };
  await runWorkers(call, place, ids.length, stopping);
  return ids;
};
