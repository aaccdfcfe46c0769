import { afterAll, beforeAll } from 'vitest';
import { createTock, type Tock } from '../../client/index.ts';
import { type DrainOptions, drain } from '../../functions/consumers/drain.ts';
import type { Connect } from '../../functions/database/types.ts';
import { createApp } from '../../functions/http/app.ts';
import { type Service, service } from '../http/service.ts';

export type ConsumerService = Service & {
  tock: Tock;
  /** Errors that drains have reported. */
  errors: unknown[];
  drain(consumers: Parameters<typeof drain>[2], options?: DrainOptions): ReturnType<typeof drain>;
  /** A database that calls `before` with each statement first, and refuses the statement if that throws. */
  watched(before: (text: string, values: unknown[]) => unknown, most?: number): Connect;
};

/** Starts the app on a real database, with a client, and a function that drains. */
async function startConsumerService(): Promise<ConsumerService> {
  const made = await service();
  const app = createApp(made.connect);
  const tock = createTock({
    url: 'http://tock',
    key: made.key,
    fetch: async (url, init) => app.fetch(new Request(url, init)),
  });
  const errors: unknown[] = [];
  return {
    ...made,
    tock,
    errors,
    drain: (consumers, options) =>
      drain(made.connect, {}, consumers, { on_error: (error) => errors.push(error), ...options }),
    watched: (before, limit) => (env, use) =>
      made.connect(env, (query, most) =>
        use(async (text, values = []) => {
          await before(text, values);
          return query(text, values);
        }, limit ?? most),
      ),
  };
}

/** The service of the test file, which useConsumerService() starts before its tests. */
export let there: ConsumerService;

export function useConsumerService(): void {
  beforeAll(async () => {
    there = await startConsumerService();
  });
  afterAll(() => there.database.drop());
}
