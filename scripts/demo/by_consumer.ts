import { anyPort } from '../stack/ports.ts';
import { type Api, api } from './api.ts';
import { fileServer } from './file_server.ts';
import { type Runner, running, tickUntilDone } from './runner.ts';
import type { Stack } from './stack.ts';
import { supervised } from './supervised.ts';

const queue = 'demo-consumer';
const print = (line: string) => process.stdout.write(`${line}\n`);

/**
 * The demo's own Worker runs in workerd and hashes files that the demo serves. The demo kills it while it certainly
 * holds a lease.
 */
export const byConsumer: Runner = async (stack: Stack, call: Api, work, stopping) => {
  const { root, paths, enqueue } = work;
  const third = Math.ceil(paths.length / 3);
  const broken = new AbortController();
  let killed = false;

  async function kill(): Promise<void> {
    killed = true;
    const pid = await worker.kill9();
    const held = await running(call, queue);
    print(
      `kill -9 of workerd (process group ${pid}), which held ${held} tasks; it is started again.`,
    );
    print('Its leases of 3 s expire, then a tick reaps them, and the Worker continues.');
  }

  const files = await fileServer(root, paths, async (count) => {
    if (killed || count < third) return;
    await kill().catch((error) => broken.abort(error));
  });
  const vars = { FILES: files.url };
  const worker = await supervised(await anyPort(), stack.POOLED_DATABASE_URL, vars, stopping).catch(
    (error) => {
      files.stop();
      throw error;
    },
  );
  try {
    const either = AbortSignal.any([stopping, broken.signal]);
    const workerApi = api(worker.url, stack.TOCK_KEY);
    print(
      `The demo's own Worker, in workerd on ${worker.url}, has a consumer of the queue ${queue}.`,
    );
    const ids = await enqueue(workerApi, queue);
    await Promise.race([tickUntilDone(call, workerApi, queue, either), worker.broken]);
    return ids;
  } finally {
    await worker.stop();
    files.stop();
  }
};
