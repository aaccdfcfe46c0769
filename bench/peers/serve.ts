import { createInterface } from 'node:readline';

/** What bench/node-work.ts asks of one process. */
export type Task<O> = { url: string; clients: number; seconds: number; options: O };

export type Options = {
  kind: 'enqueue' | 'cycle';
  /** Tasks a call, and the bytes of JSON of each. */
  batch: number;
  bytes: number;
  queues: string[];
};

export type Count = { calls: number; tasks: number; dry: number };

/** Connected and warm: `run` works until `over()`, and `close` disconnects. */
export type Ready = {
  run(count: Count, over: () => boolean, seconds: number): Promise<void>;
  close(): Promise<void>;
};

/** Says `ready`, waits for `go`, works, and prints what came of it. */
export async function serve<O>(prepare: (task: Task<O>) => Promise<Ready>): Promise<void> {
  const task: Task<O> = JSON.parse(process.env.BENCH_WORK ?? '{}');
  const lines = createInterface({ input: process.stdin });
  const go = new Promise<void>((resolve) => lines.once('line', () => resolve()));
  // Without a word, its end means that whoever started this is gone.
  let told = false;
  lines.once('close', () => !told && process.exit(1));
  lines.once('line', () => {
    told = true;
  });
  const ready = await prepare(task);
  console.log('ready');
  await go;
  const count = { calls: 0, tasks: 0, dry: 0 };
  const from = performance.now();
  const until = from + task.seconds * 1000;
  await ready.run(count, () => performance.now() >= until, task.seconds);
  const seconds = (performance.now() - from) / 1000;
  await ready.close();
  console.log(JSON.stringify({ ...count, seconds }));
  process.exit(0);
}

/** So many loops of calls side by side; a call gives its number of tasks, 0 when it found none. */
export async function loops(
  clients: number,
  over: () => boolean,
  count: Count,
  call: (client: number) => Promise<number>,
): Promise<void> {
  const loop = async (client: number) => {
    while (!over()) {
      const tasks = await call(client);
      count.calls++;
      count.tasks += tasks;
      if (tasks > 0) continue;
      count.dry++;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  };
  await Promise.all(Array.from({ length: clients }, (_, client) => loop(client)));
}

/** Each client begins elsewhere and goes round. */
export function round<T>(all: T[], clients: number): (client: number) => T {
  const next = Array.from({ length: clients }, (_, i) => Math.floor((i * all.length) / clients));
  return (client) => {
    const n = next[client] ?? 0;
    next[client] = (n + 1) % all.length;
    return all[n] as T;
  };
}
