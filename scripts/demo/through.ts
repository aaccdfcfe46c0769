import { type Api, expectOk } from './api.ts';

const patienceSeconds = 180;
const say = (line: string) => process.stdout.write(`${line}\n`);

type Depth = { queue: string; ready: number; running: number; waiting: number; dead: number };

/** How many of a queue's tasks have not ended. */
async function leftOf(call: Api, queue: string): Promise<number> {
  const { queues } = await expectOk<{ queues: Depth[] }>(call('/v1/queues'));
  const depth = queues.find((one) => one.queue === queue);
  return depth ? depth.ready + depth.running + depth.waiting : 0;
}

/**
 * Ticks each second, as a cron trigger would each minute, until the queue has nothing left; an error when
 * nothing moves any more.
 */
export async function workedOff(
  call: Api,
  edge: Api,
  queue: string,
  stopping: AbortSignal,
): Promise<void> {
  let left = Number.POSITIVE_INFINITY;
  let moved = performance.now();
  for (let turn = 1; left > 0; turn++) {
    stopping.throwIfAborted();
    await new Promise((wake) => setTimeout(wake, 1000));
    await expectOk(edge('/v1/tick', {}));
    const now = await leftOf(call, queue);
    if (now !== left) moved = performance.now();
    left = now;
    if (turn % 5 === 0) say(`  ${left} to go`);
    if (performance.now() - moved > patienceSeconds * 1000) {
      throw new Error(`Nothing moved for ${patienceSeconds} s: see "npm run tock status".`);
    }
  }
}

/** How many tasks of a queue are running now. */
export async function running(call: Api, queue: string): Promise<number> {
  const path = `/v1/tasks?queue=${queue}&state=running&limit=1000`;
  return (await expectOk<{ tasks: unknown[] }>(call(path))).tasks.length;
}
