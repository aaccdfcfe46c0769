import { consumers } from './consumers/index.ts';
import { createWorker } from './worker.ts';

const worker = createWorker({ consumers });

/** The Worker: HTTP, for a cron trigger the duties that are due, and its consumers. */
export default { fetch: worker.fetch, scheduled: worker.scheduled };

/** Used where wrangler.toml binds it. */
export const { Alarm } = worker;
