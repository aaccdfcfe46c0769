import { connect } from '../functions/database/connect.ts';
import { createApp } from '../functions/http/app.ts';
import { createWorker, defineConsumer } from '../functions/worker.ts';

const started = defineConsumer({
  queue: 'started',
  handler: async (task, { env }) => {
    await fetch(`${env.LISTENER}/${task.id}`);
  },
});

/** For the latency curve: the path is the number of the task. */
const curve = defineConsumer<number>({
  queue: 'curve',
  concurrency: 10,
  handler: async (task, { env }) => {
    await fetch(`${env.LISTENER}/${task.payload}`);
  },
});

const worker = createWorker({ consumers: [started, curve] });
const floor = createApp(connect);

floor.get('/bench/select1', async (c) => {
  const [row] = await connect(c.env, (query) => query('select 1 as one'));
  return c.json(row);
});

// A route that does what a handler's start needs, without a task: a query, then a message to the listener.
floor.get('/bench/started', async (c) => {
  const rows = await connect(c.env, (query) => query('select 1 as one'));
  await fetch(`${(c.env as Record<string, unknown>).LISTENER}/floor`);
  return c.json(rows);
});

/** The Worker with a consumer, and with routes for comparison. */
export default {
  fetch: ((request, env, execution) =>
    request.url.includes('/bench/')
      ? floor.fetch(request, env)
      : worker.fetch(request, env, execution)) satisfies typeof worker.fetch,
};

export const { Alarm } = worker;
