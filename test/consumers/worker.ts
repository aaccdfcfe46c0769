import { createWorker, defineConsumer } from '../../functions/worker.ts';

type Task = { effect?: boolean };

/** Tells the test where a handler is, which may keep it there. */
const told = async (listener: unknown, point: string, id: string) => {
  await fetch(`${listener}/${point}/${id}`);
};

const quick = defineConsumer({
  queue: 'quick',
  concurrency: 4,
  handler: (task, { env }) => told(env.LISTENER, 'quick', task.id),
});

/** Its effect and its completion are one statement, or two. */
const effects = [true, false].map((once) =>
  defineConsumer<Task>({
    queue: once ? 'once' : 'twice',
    async handler({ id }, { env, completeWith }) {
      await told(env.LISTENER, 'begun', id);
      if (once) await completeWith('insert into effects (task) values ($1)', [id]);
      await told(env.LISTENER, 'effect', id);
    },
  }),
);

const worker = createWorker({ consumers: [quick, ...effects] });

export default { fetch: worker.fetch, scheduled: worker.scheduled };

export const { Alarm } = worker;
