import { type Api, expectOk } from './api.ts';
import type { Stack } from './stack.ts';

const MAX_IDLE_SECONDS = 180;
const print = (line: string) => process.stdout.write(`${line}\n`);

type Depth = { ready: number; running: number; waiting: number };

/** The number of unfinished tasks of a queue. */
async function unfinishedCount(call: Api, queue: string): Promise<number> {
  const { ready, running, waiting } = await expectOk<Depth>(call(`/v1/queues/${queue}`));
  return ready + running + waiting;
}

/**
 * Ticks each second, as a cron trigger would do each minute, until the queue is empty. Throws if the queue does not
 * change for too long.
 */
export async function tickUntilDone(
  call: Api,
  api: Api,
  queue: string,
  stopping: AbortSignal,
): Promise<void> {
  let remaining = Number.POSITIVE_INFINITY;
  let moved = performance.now();
  for (let round = 1; remaining > 0; round++) {
    stopping.throwIfAborted();
    await new Promise((resolve) => setTimeout(resolve, 1000));
    // On a busy machine a tick may take longer than the caller waits. Then the next tick continues.
    const problem = await expectOk(api('/v1/tick', {})).then(() => '', String);
    const current = await unfinishedCount(call, queue);
    if (current !== remaining) moved = performance.now();
    remaining = current;
    if (round % 5 === 0) print(`  ${remaining} left`);
    if (performance.now() - moved > MAX_IDLE_SECONDS * 1000) {
      throw new Error(
        `Nothing changed for ${MAX_IDLE_SECONDS} s: see "npm run tock status". ${problem}`.trim(),
      );
    }
  }
}

/** The number of running tasks of a queue. */
export async function running(call: Api, queue: string): Promise<number> {
  const path = `/v1/tasks?queue=${queue}&state=running&limit=1000`;
  return (await expectOk<{ tasks: unknown[] }>(call(path))).tasks.length;
}

export type RunnerInput = {
  root: string;
  paths: string[];
  /** Adds a task for each path; returns the ids. */
  enqueue(call: Api, queue: string): Promise<string[]>;
};

/** A way to run the tasks, with a kill during the run; returns the ids when all tasks are done. */
export type Runner = (
  stack: Stack,
  call: Api,
  input: RunnerInput,
  stopping: AbortSignal,
) => Promise<string[]>;
