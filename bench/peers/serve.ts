import { createInterface } from 'node:readline';

/** The work that bench/node-work.ts passes to a process. */
export type Task<O> = { url: string; clients: number; options: O };

export type Options = {
  kind: 'enqueue' | 'cycle';
  /** Tasks per call. */
  batch: number;
  /** Bytes of JSON of each task. */
  bytes: number;
  queues: string[];
};

export type Barrier = {
  /** Each turn awaits this first. While all clients are called together, a turn waits here. */
  pass(): Promise<void> | undefined;
  over(): boolean;
  /** Resolves when the work is over. */
  end: Promise<void>;
};

/** The prepared work: `run` works until the barrier says that it is over, with `turns` calls at a time. */
export type Ready = { turns: number; run(barrier: Barrier): Promise<void> };

/**
 * Serves one process by lines of text. It prints `ready` and warms up. After the line `meet` it prints `met` when all
 * calls wait at the barrier. It works from `go` until `stop`, and then prints `over`.
 */
export async function serve<O>(prepare: (task: Task<O>) => Promise<Ready>): Promise<void> {
  const task: Task<O> = JSON.parse(process.env.BENCH_WORK ?? '{}');
  const [opened, ended] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let [called, over] = [false, false];
  let standing = 0;
  const words: Record<string, () => void> = {
    meet: () => {
      called = true;
    },
    go: () => {
      called = false;
      opened.resolve();
    },
    stop: () => {
      over = true;
      opened.resolve();
      ended.resolve();
    },
  };
  const lines = createInterface({ input: process.stdin });
  lines.on('line', (word) => words[word]?.());
  // Standard input closes when the parent process has ended.
  lines.once('close', () => process.exit(1));
  const { turns, run } = await prepare(task);
  const pass = () => {
    if (!called) return;
    if (++standing === turns) console.log('met');
    return opened.promise;
  };
  console.log('ready');
  await run({ pass, over: () => over, end: ended.promise });
  console.log('over');
  process.exit(0);
}

/** Runs `clients` loops of calls concurrently; a call returns its number of tasks, 0 if it found none. */
export async function loops(
  clients: number,
  { pass, over }: Barrier,
  call: (client: number) => Promise<number>,
): Promise<void> {
  const loop = async (client: number) => {
    while (!over()) {
      await pass();
      if ((await call(client)) > 0) continue;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  };
  await Promise.all(Array.from({ length: clients }, (_, client) => loop(client)));
}

/** A function that gives each client the entries in turn. Each client begins with another entry. */
export function round<T>(all: T[], clients: number): (client: number) => T {
  const next = Array.from({ length: clients }, (_, i) => Math.floor((i * all.length) / clients));
  return (client) => {
    const n = next[client] ?? 0;
    next[client] = (n + 1) % all.length;
    return all[n] as T;
  };
}
