// A Worker that a test kills, with the flow as a consumer.
import { createWorker, defineConsumer, type Worker } from '../../functions/worker.ts';
import { flow, LAST_EFFECT, QUEUE, STEP_EFFECT } from './steps_flow.ts';

const consumer = defineConsumer({
  queue: QUEUE,
  async handler(task, context) {
    const invoice = () => context.step.with('invoice', STEP_EFFECT, [task.id]);
    const result = await flow(context.env.LISTENER)(task, { ...context, invoice });
    await context.completeWith(LAST_EFFECT, [task.id], result);
  },
});

const worker = createWorker({ consumers: [consumer] });

/** A request to /scheduled calls the cron trigger, because workerd has no other way to call it. */
const fetch_: Worker['fetch'] = async (request, env, execution) => {
  if (!request.url.endsWith('/scheduled')) return worker.fetch(request, env, execution);
  await worker.scheduled(null, env);
  return new Response();
};

export default { fetch: fetch_ };
