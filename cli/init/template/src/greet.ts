// `npm run greet -- Ann` enqueues a task, waits until it has ended, and prints its result.
import { tock } from './client.ts';

const [name = 'world'] = process.argv.slice(2);
const id = await tock.enqueue('greetings', { name });
const task = await tock.task(id, { wait_seconds: 10 });
console.log(`task ${id}: ${task?.state}`, task?.result ?? task?.error ?? '');
