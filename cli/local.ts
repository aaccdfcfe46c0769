import type pg from 'pg';
import type { CallOptions } from '../client/call.ts';
import { statusOf } from '../functions/database/errors.ts';
import type { Bindings } from '../functions/env.ts';
import { createApp } from '../functions/http/app.ts';
import { refusal } from '../functions/http/problem.ts';

/** Each call has bindings of its own, because several calls may run at once. */
type CallBindings = Bindings & { failed?: Error };

/**
 * The app as a fetch(), with the rights of the logged-in role. After a failure of the database it throws the database's
 * own error: the user of this process has the URL, so the error may show details.
 */
export function appFetch(client: pg.Client): NonNullable<CallOptions['fetch']> {
  const app = createApp(
    (env: CallBindings, use) =>
      use(async (text, values) => {
        try {
          return (await client.query(text, values)).rows;
        } catch (error) {
          const { code } = error as pg.DatabaseError;
          if (statusOf(code) < 500) throw error;
          env.failed = error as Error;
          throw refusal(500, env.failed.message);
        }
      }),
    { rights: 'database role' },
  );
  return async (input, init) => {
    const env: CallBindings = { TOCK_PUSH_SECRET: process.env.TOCK_PUSH_SECRET ?? '' };
    const answer = await app.request(input, init, env);
    if (env.failed) throw env.failed;
    return answer;
  };
}
