import { createWorker, defineConsumer } from 'tock/worker';
import { greet } from './greetings.ts';
import type { Queues } from './queues.ts';

const greetings = defineConsumer<Queues['greetings']>({
  queue: 'greetings',
  concurrency: 5,
  handler: greet,
});

const worker = createWorker({ consumers: [greetings] });

export default { fetch: worker.fetch, scheduled: worker.scheduled };
export const { Alarm } = worker;
