import { Absurd } from 'absurd';
import pg from 'pg';
import { payload } from '../payload.ts';
import { serve } from './serve.ts';

const result = JSON.parse(payload(100));

/** absurd's own worker, with a task of so many steps. */
await serve<{ steps: number }>(async ({ url, clients, options }) => {
  const pool = new pg.Pool({ connectionString: url, max: clients + 1, idleTimeoutMillis: 0 });
  const all = await Promise.all(Array.from({ length: clients + 1 }, () => pool.connect()));
  for (const client of all) client.release();
  return {
    turns: clients,
    async run({ pass, end }) {
      const app = new Absurd({ db: pool, queueName: 'q' });
      app.registerTask({ name: 'flow' }, async (_params, context) => {
        await pass();
        for (let n = 1; n <= options.steps; n++)
          await context.step(`step ${n}`, async () => result);
      });
      const worker = await app.startWorker({
        concurrency: clients,
        onError(error) {
          console.error(error);
          process.exit(1);
        },
      });
      await end;
      await worker.close();
    },
  };
});
