import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

export type Worker = { name: string; pid: number; child: ChildProcess; ended: Promise<void> };

export type Crew = {
  /** Starts a worker as a process of its own. */
  hire(name: string): Worker;
  completed(): number;
  stop(): Promise<void>;
};

export type CrewOptions = {
  url: string;
  key: string;
  queue: string;
  root: string;
  /** Called as soon as a worker has said what it claimed, before it can have completed it. */
  onClaim(worker: Worker, ids: string[]): void;
  /** Called for a worker that ended and was not told to. */
  onLoss(worker: Worker): void;
};

export function crew(options: CrewOptions): Crew {
  const { url, key, queue, root } = options;
  const workers = new Set<Worker>();
  let completed = 0;
  let stopping = false;
  return {
    hire(name) {
      const file = join(import.meta.dirname, 'worker.ts');
      const child = spawn(process.execPath, [file, queue, name, root], {
        env: { ...process.env, TOCK_URL: url, TOCK_KEY: key },
        stdio: ['pipe', 'pipe', 'inherit'],
      });
      const ended = new Promise<void>((resolve) => child.on('close', () => resolve()));
      const worker = { name, pid: child.pid ?? 0, child, ended };
      workers.add(worker);
      createInterface({ input: child.stdout }).on('line', (line) => {
        const said: { claimed?: string[]; completed?: number } = JSON.parse(line);
        completed += said.completed ?? 0;
        if (said.claimed) options.onClaim(worker, said.claimed);
      });
      void ended.then(() => {
        workers.delete(worker);
        if (!stopping) options.onLoss(worker);
      });
      return worker;
    },
    completed: () => completed,
    async stop() {
      stopping = true;
      for (const { child } of workers) child.kill('SIGTERM');
      await Promise.all([...workers].map((worker) => worker.ended));
    },
  };
}
