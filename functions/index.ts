import { consumers } from './consumers/index.ts';
import { createWorker } from './worker.ts';

const worker = createWorker({ consumers });

/** The Worker: the HTTP API, maintenance for a cron trigger, and its consumers. */
export default { fetch: worker.fetch, scheduled: worker.scheduled };

/** Used if wrangler.toml binds it. */
export const { Alarm } = worker;
