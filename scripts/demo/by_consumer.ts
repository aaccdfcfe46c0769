import { anyPort } from '../stack/ports.ts';
import { type Api, api } from './api.ts';
import { fileServer } from './file_server.ts';
import type { Stack } from './stack.ts';
import { supervised } from './supervised.ts';
import { running, type Through, workedOff } from './through.ts';

const queue = 'demo-consumer';
const say = (line: string) => process.stdout.write(`${line}\n`);

/** The demo's own Worker hashes in workerd what the demo serves; it is killed while it surely holds a lease. */
export const byConsumer: Through = async (stack: Stack, call: Api, given, stopping) => {
  const { root, paths, enqueue } = given;
  const third = Math.ceil(paths.length / 3);
  const broken = new AbortController();
  let killed = false;

  async function kill(): Promise<void> {
    killed = true;
    const pid = await edge.kill9();
    const held = await running(call, queue);
    say(
      `kill -9 of workerd (process group ${pid}), which held ${held} tasks; it is started again.`,
    );
    say('Its leases of 3 s run out, then a tick takes them back, and the Worker goes on.');
  }

  const files = await fileServer(root, paths, async (count) => {
    if (killed || count < third) return;
    await kill().catch((error) => broken.abort(error));
  });
  const vars = { FILES: files.url };
  const edge = await supervised(await anyPort(), stack.POOLED_DATABASE_URL, vars, stopping).catch(
    (error) => {
      files.stop();
      throw error;
    },
  );
  try {
    const either = AbortSignal.any([stopping, broken.signal]);
    const own = api(edge.url, stack.TOCK_KEY);
    say(`The demo's own Worker, in workerd on ${edge.url}, has a consumer of the queue ${queue}.`);
    const ids = await enqueue(own, queue);
    await Promise.race([workedOff(call, own, queue, either), edge.broken]);
    return ids;
  } finally {
    await edge.stop();
    files.stop();
  }
};
