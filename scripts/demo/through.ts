import { type Api, expectOk } from './api.ts';
import type { Stack } from './stack.ts';

const patienceSeconds = 180;
const say = (line: string) => process.stdout.write(`${line}\n`);

type Depth = { ready: number; running: number; waiting: number };

/** How many of a queue's tasks have not ended. */
async function leftOf(call: Api, queue: string): Promise<number> {
  const { ready, running, waiting } = await expectOk<Depth>(call(`/v1/queues/${queue}`));
  return ready + running + waiting;
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
    // On a busy machine a tick may take longer than its caller waits: the next one goes on.
    const problem = await expectOk(edge('/v1/tick', {})).then(() => '', String);
    const now = await leftOf(call, queue);
    if (now !== left) moved = performance.now();
    left = now;
    if (turn % 5 === 0) say(`  ${left} to go`);
    if (performance.now() - moved > patienceSeconds * 1000) {
      throw new Error(
        `Nothing moved for ${patienceSeconds} s: see "npm run tock status". ${problem}`.trim(),
      );
    }
  }
}

/** How many tasks of a queue are running now. */
export async function running(call: Api, queue: string): Promise<number> {
  const path = `/v1/tasks?queue=${queue}&state=running&limit=1000`;
  return (await expectOk<{ tasks: unknown[] }>(call(path))).tasks.length;
}

export type Given = {
  root: string;
  paths: string[];
  /** A task for each path; their ids. */
  enqueue(call: Api, queue: string): Promise<string[]>;
};

/** One way to have the tasks done, with a kill in the middle; the tasks' ids when all are. */
export type Through = (
  stack: Stack,
  call: Api,
  given: Given,
  stopping: AbortSignal,
) => Promise<string[]>;
