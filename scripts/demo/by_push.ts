import { anyPort } from '../stack/ports.ts';
import { expectOk } from './api.ts';
import { type Runner, tickUntilDone } from './runner.ts';
import { type Receiver, receiver } from './start_receiver.ts';

const queue = 'demo-push';
const print = (line: string) => process.stdout.write(`${line}\n`);

/** Tock pushes tasks to a receiver that verifies signatures. The demo kills it while it certainly handles a push. */
export const byPush: Runner = async (_stack, call, { root, paths, enqueue }, stopping) => {
  const third = Math.ceil(paths.length / 3);
  const broken = new AbortController();
  const breaks = (error: unknown) => broken.abort(error);
  const port = await anyPort();
  const push = { url: `http://127.0.0.1:${port}/`, timeout_seconds: 10 };
  const backoff = { backoff_kind: 'fixed', backoff_base_seconds: 1 };
  await expectOk(call(`/v1/queues/${queue}`, { push, ...backoff }, 'PUT'));
  const answer = call(`/v1/queues/${queue}/push-secret`);
  const { secret } = await expectOk<{ secret: string }>(answer);
  let current: Receiver | null = null;
  let received = 0;
  let victim: Receiver | null = null;
  let stopped = false;

  async function kill(receiverProcess: Receiver): Promise<void> {
    victim = receiverProcess;
    const { child, ended } = receiverProcess;
    child.kill('SIGKILL');
    await ended;
    print(`kill -9 of the receiver (process ${child.pid}) while it handled a push.`);
    print('Pushes without an answer are repeated a second later; the receiver is started again.');
    await receive();
  }

  async function receive(): Promise<void> {
    const receiverProcess: Receiver = receiver(port, root, secret, (message) => {
      if (message.refused) breaks(new Error(`The receiver refused a push: ${message.refused}`));
      if (message.received && !victim && ++received >= third) kill(receiverProcess).catch(breaks);
    });
    current = receiverProcess;
    void receiverProcess.ended.then(() => {
      if (!stopped && receiverProcess !== victim)
        breaks(new Error('The receiver ended unexpectedly: see above.'));
    });
    await receiverProcess.listening;
  }

  try {
    await receive();
    print(`The receiver, a separate process on 127.0.0.1:${port}, verifies the signature.`);
    const ids = await enqueue(call, queue);
    await tickUntilDone(call, call, queue, AbortSignal.any([stopping, broken.signal]));
    return ids;
  } finally {
    stopped = true;
    // Without this call each tick would try to reach the stopped receiver.
    await call(`/v1/queues/${queue}`, { push: null }, 'PUT').catch(() => {});
    const last = current as Receiver | null;
    last?.child.kill('SIGTERM');
    await last?.ended;
  }
};
