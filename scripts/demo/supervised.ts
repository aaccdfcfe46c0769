import { signal } from '../stack/processes.ts';
import { healthy, startWorker, type Worker, type WorkerOptions } from '../stack/worker.ts';

/** The demo's Worker, which is restarted after a kill. */
export type Supervised = {
  url: string;
  /** Kills workerd and its wrangler. Resolves with the process id when they have ended. */
  kill9(): Promise<number>;
  /** Rejects if the Worker ends without a kill, or does not start again after one. */
  broken: Promise<never>;
  stop(): Promise<void>;
};

export async function supervised(
  port: number,
  databaseUrl: string,
  vars: NonNullable<WorkerOptions['vars']>,
  stopping: AbortSignal,
): Promise<Supervised> {
  const url = `http://127.0.0.1:${port}`;
  let worker: Worker;
  let killed = false;
  let stopped = false;
  let breaks: (error: Error) => void = () => {};
  const broken = new Promise<never>((_, reject) => {
    breaks = reject;
  });
  broken.catch(() => {});

  function start(): Promise<void> {
    killed = false;
    const startedWorker = startWorker(port, databaseUrl, {
      name: 'demo-worker',
      entry: 'scripts/demo/edge.ts',
      vars,
    });
    worker = startedWorker;
    void startedWorker.ended.then(() => {
      if (!killed && !stopped)
        breaks(new Error(`The demo's Worker ended unexpectedly: ${startedWorker.log}`));
    });
    return healthy(url, startedWorker, stopping);
  }

  async function stop(): Promise<void> {
    stopped = true;
    await worker.stop();
  }

  try {
    await start();
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    url,
    broken,
    stop,
    async kill9() {
      const { pid, ended, stop: bury } = worker;
      killed = true;
      signal(-pid, 'SIGKILL');
      await ended;
      await bury();
      if (!stopped) start().catch(breaks);
      return pid;
    },
  };
}
