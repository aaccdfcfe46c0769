import type { Claimed } from '../../../client/types.ts';
import { logError } from '../../consumers/drain.ts';
import type { Query } from '../../database/types.ts';
import type { Bindings } from '../../env.ts';
import type { PushResult } from '../../push/answer.ts';
import { type Send, sendMessage } from './deliver.ts';
import { type Message, messageOf } from './message.ts';
import { isQstashQueue, PUBLISHED } from './names.ts';
import { signingKeys } from './sign.ts';

const generationSql = `select generation from tock.push_secret(p_queue => '${PUBLISHED}')`;
const enqueueSql =
  'select tock.enqueue(p_queue => $1, p_tasks => $2::jsonb, p_request_id => $3) as ids';

/** Sends a message and adds its callbacks; returns the answer, or throws its failure. */
export type MessageSender = (
  message: Message,
  task: Claimed,
  send: Send,
  signal: AbortSignal,
) => Promise<PushResult>;

const isOn = ({ TOCK_COMPAT = '' }: Bindings) =>
  TOCK_COMPAT.split(',').some((name) => name.trim() === 'qstash');

/** The message of a task; null for a payload that is none, and in a queue that is not QStash's. */
export const messageIn = ({ queue, payload }: Claimed): Message | null =>
  isQstashQueue(queue) ? messageOf(payload) : null;

/** Reads the key that signs the messages of these queues. Null without the adapter, or if none of them is QStash's. */
export async function messageSender(
  query: Query,
  env: Bindings,
  queues: readonly string[],
): Promise<MessageSender | null> {
  if (!isOn(env) || !queues.some(isQstashQueue)) return null;
  const [row] = await query(generationSql, []);
  const { current: key } = await signingKeys(env, Number(row?.generation ?? 1));
  const enqueue = async (queue: string, tasks: object[], request_id: string) => {
    try {
      await query(enqueueSql, [queue, JSON.stringify(tasks), request_id]);
    } catch (error) {
      // What Tock refuses now, it would refuse again.
      if (!/^(TK4|22)/.test((error as { code?: string }).code ?? '')) throw error;
      logError(error);
    }
  };
  return (message, task, send, signal) =>
    sendMessage(message, task, {
      key,
      send,
      enqueue: (tasks, request_id) => enqueue(task.queue, tasks, request_id),
      query,
      signal,
    });
}
