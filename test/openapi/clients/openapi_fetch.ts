import createClient from 'openapi-fetch';
import type { paths } from './schema.d.ts';

const { TOCK_URL = '', TOCK_KEY = '' } = process.env;
const tock = createClient<paths>({
  baseUrl: TOCK_URL,
  headers: { authorization: `Bearer ${TOCK_KEY}` },
});
const path = { queue: 'by-openapi-fetch' };

const enqueued = await tock.POST('/v1/queues/{queue}/tasks', {
  params: { path },
  body: { tasks: [{ payload: { n: 1 } }, { payload: { n: 2 }, priority: 0 }, {}] },
});
if (enqueued.error) throw new Error(enqueued.error.detail);
const ids: string[] = enqueued.data.ids;

const claimed = await tock.POST('/v1/queues/{queue}/claim', {
  params: { path },
  body: { worker: 'w', limit: 2 },
});
const { lease = null, tasks = [] } = claimed.data ?? {};
if (lease === null) throw new Error('nothing was claimed');
const completed = await tock.POST('/v1/leases/{lease}/complete', {
  params: { path: { lease } },
  body: { results: tasks.map(({ id }) => ({ id, result: { sent: true } })) },
});

const refused = await tock.POST('/v1/queues/{queue}/tasks', {
  params: { path },
  // @ts-expect-error The types know that a priority is a number.
  body: { payload: {}, priority: 'high' },
});

const pages: string[][] = [];
let cursor: string | null | undefined;
do {
  const query = { queue: path.queue, limit: 2, ...(cursor && { cursor }) };
  const { data, error } = await tock.GET('/v1/tasks', { params: { query } });
  if (error) throw new Error(error.detail);
  pages.push(data.tasks.map(({ id }) => id));
  cursor = data.cursor;
} while (cursor);

const metrics = await tock.GET('/metrics', { parseAs: 'text' });

console.log(
  JSON.stringify({
    ids,
    claimed: tasks.map(({ payload }) => payload),
    completed: completed.data,
    refused: { status: refused.response.status, field: refused.error?.field },
    pages,
    metrics: metrics.data?.slice(0, 12),
  }),
);
