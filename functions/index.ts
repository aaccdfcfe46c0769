import { createApp } from './app.ts';
import { type Bindings, connect } from './query.ts';

const app = createApp(connect);

/** The Worker: HTTP, and for a cron trigger the duties that are due. */
export default {
  fetch: app.fetch,
  async scheduled(_event: unknown, env: Bindings): Promise<void> {
    await connect(env, (query) => query('select tock.tick() as next_wake_at'));
  },
};
