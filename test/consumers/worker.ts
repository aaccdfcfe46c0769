// A Worker for the tests, whose handlers say where they are, and may be kept there.
import { createWorker, defineConsumer, type Worker } from '../../functions/worker.ts';

const told = async (listener: unknown, point: string, id: string) => {
  await fetch(`${listener}/${point}/${id}`);
};

const quick = defineConsumer({
  queue: 'quick',
  concurrency: 10,
  handler: (task, { env }) => told(env.LISTENER, 'quick', task.id),
});

/** Its effect is a task of another queue. */
const leads = defineConsumer({
  queue: 'leads',
  handler: (_, { spawn }) => spawn({ queue: 'quick', tasks: [{ payload: null }] }),
});

const once = defineConsumer({
  queue: 'once',
  async handler({ id }, { env, completeWith }) {
    await told(env.LISTENER, 'begun', id);
    await completeWith('insert into public.effects (task) values ($1)', [id]);
    await told(env.LISTENER, 'effect', id);
  },
});

const worker = createWorker({ consumers: [quick, leads, once] });

/** workerd itself has nothing that asks for a cron trigger. */
const fetch_: Worker['fetch'] = async (request, env, execution) => {
  if (!request.url.endsWith('/scheduled')) return worker.fetch(request, env, execution);
  await worker.scheduled(null, env);
  return new Response();
};

export default { fetch: fetch_ };

export const { Alarm } = worker;
