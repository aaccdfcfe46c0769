import { client } from './hey/client.gen.ts';
import { claimTasks, completeRuns, enqueueTasks, getMetrics, listTasks } from './hey/sdk.gen.ts';

const { TOCK_URL = '', TOCK_KEY = '' } = process.env;
client.setConfig({ baseUrl: TOCK_URL, auth: TOCK_KEY });
const path = { queue: 'by-hey-api' };

const enqueued = await enqueueTasks({
  path,
  body: { tasks: [{ payload: { n: 1 } }, { payload: { n: 2 }, priority: 0 }, {}] },
});
if (enqueued.error) throw new Error(enqueued.error.detail);
const ids: string[] = enqueued.data.ids;

const claimed = await claimTasks({ path, body: { worker: 'w', limit: 2 } });
const { lease = null, tasks = [] } = claimed.data ?? {};
if (lease === null) throw new Error('nothing was claimed');
const completed = await completeRuns({
  path: { lease },
  body: { results: tasks.map(({ id }) => ({ id, result: { sent: true } })) },
});

const refused = await enqueueTasks({
  path,
  // @ts-expect-error The types know that a priority is a number.
  body: { payload: {}, priority: 'high' },
});

const pages: string[][] = [];
let cursor: string | null | undefined;
do {
  const query = { queue: path.queue, limit: 2, ...(cursor && { cursor }) };
  const { data, error } = await listTasks({ query });
  if (error) throw new Error(error.detail);
  pages.push(data.tasks.map(({ id }) => id));
  cursor = data.cursor;
} while (cursor);

const metrics = await getMetrics();

console.log(
  JSON.stringify({
    ids,
    claimed: tasks.map(({ payload }) => payload),
    completed: completed.data,
    refused: { status: refused.response?.status, field: refused.error?.field },
    pages,
    metrics: metrics.data?.slice(0, 12),
  }),
);
