// A Worker for tests. Its handlers call a listener at each point, and wait there until it answers.
import { createWorker, defineConsumer, type Worker } from '../../functions/worker.ts';

const notify = async (listener: unknown, point: string, id: string) => {
  await fetch(`${listener}/${point}/${id}`);
};

const quick = defineConsumer({
  queue: 'quick',
  concurrency: 10,
  handler: (task, { env }) => notify(env.LISTENER, 'quick', task.id),
});

/** The handler spawns a task of another queue. */
const leads = defineConsumer({
  queue: 'leads',
  handler: (_, { spawn }) => spawn({ queue: 'quick', tasks: [{ payload: null }] }),
});

const once = defineConsumer({
  queue: 'once',
  async handler({ id }, { env, completeWith }) {
    await notify(env.LISTENER, 'begun', id);
    await completeWith('insert into public.effects (task) values ($1)', [id]);
    await notify(env.LISTENER, 'effect', id);
  },
});

const worker = createWorker({ consumers: [quick, leads, once] });

/** A request to /scheduled calls the cron trigger, because workerd has no other way to call it. */
const fetch_: Worker['fetch'] = async (request, env, execution) => {
  if (!request.url.endsWith('/scheduled')) return worker.fetch(request, env, execution);
  await worker.scheduled(null, env);
  return new Response();
};

export default { fetch: fetch_ };

export const { Alarm } = worker;
