import { Logger, type Runner, run } from 'graphile-worker';
import pg from 'pg';
import { serve } from './serve.ts';

type Options = {
  queues: string[];
  /** Number of graphile-worker's runners in this process, which share the connections. */
  runners: number;
  /** Number of jobs that a runner runs at once. Default: its number of connections. */
  concurrency?: number;
  /** The size of its local queue; -1 for none. */
  size: number;
  /** The delay of reporting completed jobs, in ms; -1 for none. */
  delay: number;
};

/** graphile-worker's own runner, with tasks that read their payload and do nothing else. */
await serve<Options>(async ({ url, clients, options }) => {
  const { queues, size, delay, runners } = options;
  const share = Math.max(1, Math.floor(clients / runners));
  const { concurrency = share } = options;
  // One connection more, which listens for notifications.
  const max = share + 1;
  const pools = Array.from({ length: runners }, () => {
    const pool = new pg.Pool({ connectionString: url, max, idleTimeoutMillis: 0 });
    pool.on('error', (error) => console.error(error));
    pool.on('connect', (client) => client.on('error', (error) => console.error(error)));
    return pool;
  });
  for (const pool of pools) {
    const all = await Promise.all(Array.from({ length: max }, () => pool.connect()));
    for (const client of all) client.release();
  }
  const logger = new Logger(() => () => {});
  return {
    turns: runners * concurrency,
    async run({ pass, end }) {
      const task = (payload: unknown) => {
        if (payload === null || typeof payload !== 'object') throw new Error('no payload');
        return pass();
      };
      const taskList = Object.fromEntries(queues.map((name) => [name, task]));
      const start = (pool: pg.Pool): Promise<Runner> =>
        run({
          pgPool: pool,
          taskList,
          parsedCronItems: [],
          noHandleSignals: true,
          preset: {
            worker: {
              logger,
              concurrentJobs: concurrency,
              maxPoolSize: max,
              localQueue: { size },
              completeJobBatchDelay: delay,
              failJobBatchDelay: delay,
            },
          },
        } as Parameters<typeof run>[0]);
      const started = await Promise.all(pools.map(start));
      await end;
      for (const runner of started) await runner.stop();
    },
  };
});
