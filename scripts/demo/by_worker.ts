import { shift } from './shift.ts';
import type { Through } from './through.ts';

/** Four processes claim over HTTP; one of them is killed while it surely holds a lease. */
export const byWorker: Through = async (stack, call, { root, enqueue }, stopping) => {
  const queue = `demo-${new Date().toISOString().replace(/\D/g, '').slice(0, 17)}`;
  const ids = await enqueue(call, queue);
  process.stdout.write('Four workers, processes of their own, claim them over HTTP.\n');
  const place = { url: stack.TOCK_URL, key: stack.TOCK_KEY, queue, root };
  await shift(call, place, ids.length, stopping);
  return ids;
};
