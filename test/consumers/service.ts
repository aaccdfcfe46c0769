import { createTock, type Tock } from '../../client/index.ts';
import { type DrainOptions, drain } from '../../functions/consumers/drain.ts';
import { createApp } from '../../functions/http/app.ts';
import { type Service, service } from '../http/service.ts';

export type ConsumerService = Service & {
  tock: Tock;
  /** Errors that drains have reported. */
  errors: unknown[];
  drain(consumers: Parameters<typeof drain>[2], options?: DrainOptions): ReturnType<typeof drain>;
};

/** Starts the app on a real database, with a client, and a function that drains. */
export async function startConsumerService(): Promise<ConsumerService> {
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
  };
}
