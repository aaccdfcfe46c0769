import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { anyPort } from '../stack/ports.ts';
import { api, expectOk } from './api.ts';
import { supervised } from './supervised.ts';
import { type Through, workedOff } from './through.ts';

const queue = 'demo-push';
const say = (line: string) => process.stdout.write(`${line}\n`);

type Said = { listening?: string; received?: string; refused?: string };

type Receiver = { child: ChildProcess; listening: Promise<void>; ended: Promise<void> };

function receiver(
  port: number,
  root: string,
  secret: string,
  hear: (said: Said) => void,
): Receiver {
  const file = join(import.meta.dirname, 'receiver.ts');
  const child = spawn(process.execPath, [file, String(port), root], {
    env: { ...process.env, SECRET: secret },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const ended = new Promise<void>((resolve) => child.on('close', () => resolve()));
  const listening = new Promise<void>((resolve, reject) => {
    createInterface({ input: child.stdout }).on('line', (line) => {
      const said: Said = JSON.parse(line);
      if (said.listening) resolve();
      hear(said);
    });
    void ended.then(() => reject(new Error('The receiver ended by itself: see above.')));
  });
  listening.catch(() => {});
  return { child, listening, ended };
}

/** Tasks are pushed to a receiver that verifies who signed them; it is killed while it surely has a push. */
export const byPush: Through = async (stack, call, { root, paths, enqueue }, stopping) => {
  const third = Math.ceil(paths.length / 3);
  const broken = new AbortController();
  const port = await anyPort();
  const vars = {
    TOCK_PUSH_SECRET: randomBytes(32).toString('base64'),
    // The receiver is on this machine.
    TOCK_PUSH_PRIVATE: 'allow',
  };
  const edge = await supervised(await anyPort(), stack.POOLED_DATABASE_URL, vars, stopping);
  let current: Receiver | null = null;
  let secret = '';
  let received = 0;
  let killed = false;

  async function kill(victim: Receiver): Promise<void> {
    killed = true;
    victim.child.kill('SIGKILL');
    await victim.ended;
    say(`kill -9 of the receiver (process ${victim.child.pid}), as it had a push to answer.`);
    say('What has no answer is pushed again a second later; the receiver is started again.');
    await receive();
  }

  async function receive(): Promise<void> {
    const one = receiver(port, root, secret, (said) => {
      if (said.refused) broken.abort(new Error(`The receiver refused a push: ${said.refused}`));
      if (!said.received || killed || ++received < third) return;
      kill(one).catch((error) => broken.abort(error));
    });
    current = one;
    await one.listening;
  }

  try {
    const own = api(edge.url, stack.TOCK_KEY);
    const push = { url: `http://127.0.0.1:${port}/`, timeout_seconds: 10 };
    const backoff = { backoff_kind: 'fixed', backoff_base_seconds: 1 };
    await expectOk(own(`/v1/queues/${queue}`, { push, ...backoff }, 'PUT'));
    const asked = own(`/v1/queues/${queue}/push-secret`);
    ({ secret } = await expectOk<{ secret: string }>(asked));
    await receive();
    say(`The receiver, a process of its own on 127.0.0.1:${port}, verifies who signed.`);
    const ids = await enqueue(own, queue);
    const either = AbortSignal.any([stopping, broken.signal]);
    await Promise.race([workedOff(call, own, queue, either), edge.broken]);
    return ids;
  } finally {
    await edge.stop();
    const last = current as Receiver | null;
    last?.child.kill('SIGTERM');
    await last?.ended;
  }
};
