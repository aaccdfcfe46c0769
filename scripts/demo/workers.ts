import { join } from 'node:path';
import { type Child, startChild } from '../child.ts';

export type Worker = Child & { name: string };
type Step = { claimed?: string[]; completed?: number };

export type Workers = {
  /** Starts a worker as a child process. */
  hire(name: string): Worker;
  completed(): number;
  stop(): Promise<void>;
};

export type WorkersOptions = {
  url: string;
  key: string;
  queue: string;
  root: string;
  /** Called when a worker reports a claim. The worker reports it before it completes any of its tasks. */
  onClaim(worker: Worker, ids: string[]): void;
  /** Called for a worker that ends before stop(). */
  onLoss(worker: Worker): void;
};

export function startWorkers(options: WorkersOptions): Workers {
  const { url, key, queue, root } = options;
  const workers = new Set<Worker>();
  let completed = 0;
  let stopping = false;
  return {
    hire(name) {
      const file = join(import.meta.dirname, 'worker.ts');
      const env = { TOCK_URL: url, TOCK_KEY: key };
      const child = startChild<Step>([file, queue, name, root], env, (step) => {
        completed += step.completed ?? 0;
        if (step.claimed) options.onClaim(worker, step.claimed);
      });
      const worker: Worker = { ...child, name };
      workers.add(worker);
      void worker.ended.then(() => {
        workers.delete(worker);
        if (!stopping) options.onLoss(worker);
      });
      return worker;
    },
    completed: () => completed,
    async stop() {
      stopping = true;
      for (const worker of workers) worker.kill('SIGTERM');
      await Promise.all([...workers].map((worker) => worker.ended));
    },
  };
}
