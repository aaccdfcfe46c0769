import pg from 'pg';
import { workSql } from '../../client/sql.ts';
import { payload } from '../payload.ts';
import { serve } from './serve.ts';

const result = JSON.parse(payload(100));

/** Tock's own worker on the database, with a handler of so many steps. */
await serve<{ steps: number }>(async ({ url, clients, options }) => {
  // A handler has a connection for its transaction, and its steps need another one.
  const pool = new pg.Pool({ connectionString: url, max: 2 * clients, idleTimeoutMillis: 0 });
  const all = await Promise.all(Array.from({ length: 2 * clients }, () => pool.connect()));
  for (const client of all) client.release();
  const fail = (error: unknown) => {
    console.error(error);
    process.exit(1);
  };
  return {
    turns: clients,
    async run({ pass, end }) {
      const stop = new AbortController();
      void end.then(() => stop.abort());
      await workSql(
        pool,
        'q',
        async (_task, { step }) => {
          await pass();
          for (let n = 1; n <= options.steps; n++) await step(`step ${n}`, () => result);
        },
        { concurrency: clients, signal: stop.signal, on_error: fail },
      );
    },
  };
});
