import { anyPort } from '../stack/ports.ts';
import { expectOk } from './api.ts';
import { type Receiver, receiver } from './receiving.ts';
import { type Through, workedOff } from './through.ts';

const queue = 'demo-push';
const say = (line: string) => process.stdout.write(`${line}\n`);

/** Tasks are pushed to a receiver that verifies who signed them; it is killed while it surely has a push. */
export const byPush: Through = async (_stack, call, { root, paths, enqueue }, stopping) => {
  const third = Math.ceil(paths.length / 3);
  const broken = new AbortController();
  const breaks = (error: unknown) => broken.abort(error);
  const port = await anyPort();
  const push = { url: `http://127.0.0.1:${port}/`, timeout_seconds: 10 };
  const backoff = { backoff_kind: 'fixed', backoff_base_seconds: 1 };
  await expectOk(call(`/v1/queues/${queue}`, { push, ...backoff }, 'PUT'));
  const asked = call(`/v1/queues/${queue}/push-secret`);
  const { secret } = await expectOk<{ secret: string }>(asked);
  let current: Receiver | null = null;
  let received = 0;
  let victim: Receiver | null = null;
  let over = false;

  async function kill(one: Receiver): Promise<void> {
    victim = one;
    const { child, ended } = one;
    child.kill('SIGKILL');
    await ended;
    say(`kill -9 of the receiver (process ${child.pid}), as it had a push to answer.`);
    say('What has no answer is pushed again a second later; the receiver is started again.');
    await receive();
  }

  async function receive(): Promise<void> {
    const one: Receiver = receiver(port, root, secret, (said) => {
      if (said.refused) breaks(new Error(`The receiver refused a push: ${said.refused}`));
      if (said.received && !victim && ++received >= third) kill(one).catch(breaks);
    });
    current = one;
    void one.ended.then(() => {
      if (!over && one !== victim) breaks(new Error('The receiver ended by itself: see above.'));
    });
    await one.listening;
  }

  try {
    await receive();
    say(`The receiver, a process of its own on 127.0.0.1:${port}, verifies who signed.`);
    const ids = await enqueue(call, queue);
    await workedOff(call, call, queue, AbortSignal.any([stopping, broken.signal]));
    return ids;
  } finally {
    over = true;
    // Else each tick would look for somebody who has gone.
    await call(`/v1/queues/${queue}`, { push: null }, 'PUT').catch(() => {});
    const last = current as Receiver | null;
    last?.child.kill('SIGTERM');
    await last?.ended;
  }
};
