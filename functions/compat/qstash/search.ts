import { refusal } from '../../http/problem.ts';
import type { CallTock } from '../adapter.ts';
import { type Call, expectOk, unlessMissing } from './call.ts';
import { type Message, messageOf } from './message.ts';
import { isQstashQueue, tockQueue } from './names.ts';

/** A task of Tock that is a message. */
export type MessageTask = { task: TockTask; message: Message };

type Run = {
  id: string;
  attempt: number;
  state: string;
  started_at: string | null;
  ended_at: string | null;
  error: { message?: string } | null;
};
export type TockTask = {
  id: string;
  queue: string;
  state: string;
  attempt: number;
  max_attempts: number;
  created_at: string;
  run_at: string | null;
  ended_at: string | null;
  payload: unknown;
  error: { status?: number; body?: unknown; message?: string } | null;
  runs: Run[];
  reruns: object[];
};

/** A call reads at most this many pages of Tock's list, then it returns a cursor. */
const MAX_PAGES = 20;
const MAX_QUERIES = 50;
/** So many tasks are read at once. */
const AT_ONCE = 10;

/** A filter's value as the part of a message that must contain it. */
const parts: Record<string, (value: string) => object> = {
  url: (url) => ({ url }),
  host: (host) => ({ host }),
  path: (path) => ({ path }),
  label: (label) => ({ labels: [label] }),
  topicName: (topic) => ({ topic }),
  scheduleId: (schedule) => ({ schedule }),
  flowControlKey: (key) => ({ flow: { key } }),
  // Tock does not keep the address of a caller, so nothing matches.
  callerIp: (caller_ip) => ({ caller_ip }),
};
const others = ['queueName', 'fromDate', 'toDate', 'count', 'cursor'];

/** The values of a filter. An empty one is refused: without it, a bulk call would concern all messages. */
function values(query: URLSearchParams, name: string): string[] {
  // A URL may have a comma. Other filters separate values by it.
  const isWhole = /^(url|path)$/.test(name);
  const all = query.getAll(name).flatMap((value) => (isWhole ? [value] : value.split(',')));
  if (all.includes('')) throw refusal(400, `${name}: a value must not be empty`);
  return all;
}

/** The queues of messages that a key allows; null: all. */
export async function allowedQueues(tock: CallTock): Promise<string[] | null> {
  const { queues } = expectOk(await tock('GET', '/v1/key')) as { queues: string[] | null };
  return queues?.filter(isQstashQueue) ?? null;
}

/** The ids that a query names by this or by messageId, null if it has filters instead. */
export function idsIn(query: URLSearchParams, name: string): string[] | null {
  const key = [name, 'messageId'].find((one) => query.has(one));
  if (key === undefined) return null;
  const beside = [key, 'count', 'cursor', 'state'];
  const other = [...query.keys()].find((one) => !beside.includes(one));
  if (other !== undefined) throw refusal(400, `${key}: not together with ${other.slice(0, 100)}`);
  return values(query, key);
}

function instant(query: URLSearchParams, name: string): string | undefined {
  const value = query.get(name);
  if (value === null) return undefined;
  const date = new Date(/^\d{1,15}$/.test(value) ? Number(value) : value);
  if (Number.isNaN(date.getTime()) || date.getUTCFullYear() > 9999)
    throw refusal(400, `${name}: a Unix time in milliseconds`);
  return date.toISOString();
}

export function countIn(query: URLSearchParams, byDefault: number, most: number): number {
  const text = query.get('count');
  if (text === null) return byDefault;
  const count = /^\d{1,6}$/.test(text) ? Number(text) : 0;
  if (count < 1) throw refusal(400, 'count: a whole number from 1');
  return Math.min(count, most);
}

/** The queries of Tock's list that together find what the filters ask for. */
async function queriesFor(
  { query, tock }: Call,
  states: readonly (string | null)[],
  further: readonly string[],
): Promise<URLSearchParams[]> {
  const known = [...Object.keys(parts), ...others, ...further];
  const unknown = [...query.keys()].find((name) => !known.includes(name));
  if (unknown !== undefined) throw refusal(400, `unknown filter ${unknown.slice(0, 100)}`);
  const named = values(query, 'queueName').map(tockQueue);
  const queues = named.length > 0 ? named : ((await allowedQueues(tock)) ?? [null]);
  let contained: object[] = [{}];
  for (const [name, part] of Object.entries(parts)) {
    const wanted = values(query, name);
    if (wanted.length === 0) continue;
    contained = wanted.flatMap((value) => contained.map((one) => ({ ...one, ...part(value) })));
    if (contained.length > MAX_QUERIES) throw refusal(400, 'too many values of filters');
  }
  const [from, to] = [instant(query, 'fromDate'), instant(query, 'toDate')];
  return states.flatMap((state) =>
    queues.flatMap((queue) =>
      contained.map((qstash) => {
        const fields = { state, queue, from, to, payload: JSON.stringify({ qstash }) };
        const set = Object.entries(fields).flatMap(([name, value]) =>
          value ? [[name, value]] : [],
        );
        return new URLSearchParams(set);
      }),
    ),
  );
}

/** Finds the ids of messages, newest first in each query. The cursor is the number of a query and its own cursor. */
export async function findIds(
  call: Call,
  states: readonly (string | null)[],
  count: number,
  further: readonly string[] = [],
): Promise<{ ids: string[]; cursor?: string }> {
  const queries = await queriesFor(call, states, further);
  const position = /^(\d{1,4})-([0-9a-f]*)$/.exec(call.query.get('cursor') || '0-');
  if (!position) throw refusal(400, 'cursor: the cursor of the previous answer');
  const ids = new Set<string>();
  let [n, cursor] = [Number(position[1]), position[2] as string];
  for (let pages = 0; n < queries.length; pages++) {
    if (ids.size >= count || pages === MAX_PAGES)
      return { ids: [...ids], cursor: `${n}-${cursor}` };
    const query = new URLSearchParams(queries[n]);
    query.set('limit', String(Math.min(1000, count - ids.size)));
    if (query.get('state') === 'dead') query.set('rerun', 'false');
    if (cursor) query.set('cursor', cursor);
    const page = expectOk(await call.tock('GET', `/v1/tasks?${query}`));
    for (const { id } of page.tasks) ids.add(id);
    cursor = page.cursor ?? '';
    if (!page.cursor) n++;
  }
  return { ids: [...ids] };
}

/** The message of an id, null if there is none. */
export async function readMessage(tock: CallTock, id: string): Promise<MessageTask | null> {
  if (!/^[1-9]\d{0,17}$/.test(id)) return null;
  const task = unlessMissing(await tock('GET', `/v1/tasks/${id}`)) as TockTask | null;
  const message = messageOf(task?.payload);
  return task && message && { task, message };
}

/** The messages of some ids, without those that do not exist. */
export async function readMessages(tock: CallTock, ids: readonly string[]): Promise<MessageTask[]> {
  const messages: MessageTask[] = [];
  for (let at = 0; at < ids.length; at += AT_ONCE) {
    const some = ids.slice(at, at + AT_ONCE).map((id) => readMessage(tock, id));
    messages.push(...(await Promise.all(some)).flatMap((one) => one ?? []));
  }
  return messages;
}
