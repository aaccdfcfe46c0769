import { signal } from '../stack/processes.ts';
import { healthy, type Other, startWorker, type Worker } from '../stack/worker.ts';

/** The demo's Worker, which is started again when it was killed. */
export type Supervised = {
  url: string;
  /** kill -9 of workerd and of the wrangler around it; resolves when they are gone, and says which process it was. */
  kill9(): Promise<number>;
  /** Rejects when it can't be started again, or ended by itself. */
  broken: Promise<never>;
  stop(): Promise<void>;
};

export async function supervised(
  port: number,
  databaseUrl: string,
  vars: NonNullable<Other['vars']>,
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
    const one = startWorker(port, databaseUrl, {
      name: 'demo-worker',
      entry: 'scripts/demo/edge.ts',
      vars,
    });
    worker = one;
    void one.ended.then(() => {
      if (!killed && !stopped) breaks(new Error(`The demo's Worker ended by itself: ${one.log}`));
    });
    return healthy(url, one, stopping);
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
