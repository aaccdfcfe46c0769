import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

type Worker = { child: ChildProcess; ended: Promise<void> };

export type Hiring<Word> = {
  /** The file and its arguments for the worker of this number. */
  argv(born: number): string[];
  env: Record<string, string>;
  /** Takes what a worker says. */
  hear(word: Word): void;
};

/** Worker processes, each replaced when it dies. */
export function startCrew<Word>(count: number, { argv, env, hear }: Hiring<Word>) {
  const workers = new Map<number, Worker>();
  let stopping = false;
  let draining = false;
  let born = 0;

  function hire(place: number): void {
    const child = spawn(process.execPath, argv(++born), {
      env: { ...process.env, ...env },
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    child.stdin?.on('error', () => {});
    if (draining) child.stdin?.write('drain\n');
    createInterface({ input: child.stdout }).on('line', (line) => {
      // The last line of one that was killed may be cut.
      if (line.endsWith(']')) hear(JSON.parse(line) as Word);
    });
    const ended = new Promise<void>((resolve) => child.on('close', () => resolve()));
    workers.set(place, { child, ended });
    void ended.then(() => !stopping && hire(place));
  }
  for (let place = 0; place < count; place++) hire(place);

  return {
    /** kill -9 of one of them, which may hold leases. */
    kill(which: number): void {
      workers.get(which % count)?.child.kill('SIGKILL');
    },
    /** From now on everything claimed is completed at once. */
    drain(): void {
      draining = true;
      for (const { child } of workers.values()) child.stdin?.write('drain\n');
    },
    async stop(): Promise<void> {
      stopping = true;
      for (const { child } of workers.values()) child.stdin?.end();
      await Promise.all([...workers.values()].map((worker) => worker.ended));
    },
  };
}

export type Crew = ReturnType<typeof startCrew>;
