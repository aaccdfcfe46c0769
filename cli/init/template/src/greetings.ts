import { Fatal, type Handler } from 'tock/client';
import type { Queues } from './queues.ts';

/** Does a task of the queue `greetings`. The returned value is the task's result; a thrown error fails the attempt. */
export const greet: Handler<Queues['greetings']> = ({ payload: { name } }) => {
  // Fatal makes the task dead at once, because a retry would fail too.
  if (name === '') throw new Fatal('the name is empty');
  console.log(`Hello ${name}`);
  return { text: `Hello ${name}` };
};
