import { refusal } from '../../http/problem.ts';
import * as s from '../../http/schemas.ts';
import type { CallTock } from '../adapter.ts';
import { checkKey, expectOk } from '../calls.ts';
import { type Call, forEach, unlessMissing } from './call.ts';
import { type Message, messageOf } from './message.ts';
import { isQstashQueue, tockQueue } from './names.ts';

/** A task of Tock that is a message. */
export type MessageTask = { task: TockTask; message: Message };

type Run = {
  state: string;
  started_at: string | null;
  ended_at: string | null;
  error: { message?: string } | null;
};
export type TockTask = {
  id: string;
  queue: string;
  tenant: string | null;
  state: string;
  max_attempts: number;
  created_at: string;
  run_at: string | null;
  ended_at: string | null;
  payload: unknown;
  error: { status?: number; body?: unknown; message?: string } | null;
  runs: Run[];
  rerun_of: string | null;
  reruns: { id: string }[];
};

/** A search reads at most this many pages of Tock's list, of about 2,000 rows each, then it returns a cursor. */
const MAX_PAGES = 20;
const MAX_QUERIES = 50;

/** A filter's value as the part of a message that must contain it. */
const parts: Record<string, (value: string) => object> = {
  url: (url) => ({ url }),
  host: (host) => ({ host }),
  path: (path) => ({ path }),
  label: (label) => ({ labels: [label] }),
  topicName: (topic) => ({ topic }),
  scheduleId: (schedule) => ({ schedule }),
  workflowUrl: (url) => ({ url }),
  workflowRunId: (run) => ({ workflow: { run } }),
  flowControlKey: (key) => ({ flow: { key } }),
  // Tock does not keep the address of a caller, so nothing matches.
  callerIp: (caller_ip) => ({ caller_ip }),
};
const others = ['queueName', 'fromDate', 'toDate', 'count', 'cursor'];

/** The values of a filter. An empty one is refused: without it, a bulk call would concern all messages. */
function values(query: URLSearchParams, name: string): string[] {
  // A URL may have a comma. Other filters separate values by it.
  const isWhole = /^(url|path|workflowUrl)$/.test(name);
  const all = query.getAll(name).flatMap((value) => (isWhole ? [value] : value.split(',')));
  if (all.includes('')) throw refusal(400, `${name}: a value must not be empty`);
  return all;
}

type Key = { queues: string[] | null; tenants: string[] | null };
const readKey = async (tock: CallTock): Promise<Key> => expectOk(await tock('GET', '/v1/key'));

/** The queues of messages that a key allows; null: all. */
export async function allowedQueues(tock: CallTock): Promise<string[] | null> {
  const { queues } = await readKey(tock);
  return queues?.filter(isQstashQueue) ?? null;
}

/** A queue of messages. The counts are those of its tasks, for a key that may see them. */
type Counted = { name: string; waiting?: number; ready?: number; running?: number };

/** The queues of messages that a key allows. Null for a key for tenants, which may not list queues. */
export async function qstashQueues(tock: CallTock): Promise<Counted[] | null> {
  const { queues: allowed, tenants } = await readKey(tock);
  if (!allowed && tenants) return null;
  const queues: Counted[] =
    allowed?.map((name) => ({ name })) ?? expectOk(await tock('GET', '/v1/queues')).queues;
  return queues.filter(({ name }) => isQstashQueue(name));
}

export const isId = (text: string) => s.id.safeParse(text).success;

/** The ids that a query names by this or by messageId, null if it has filters instead. */
export async function idsIn(
  { query, tock }: Call,
  name: string,
  most = 1000,
): Promise<string[] | null> {
  const key = [name, 'messageId'].find((one) => query.has(one));
  if (key === undefined) return null;
  const beside = [key, 'count', 'cursor', 'state', 'source'];
  const other = [...query.keys()].find((one) => !beside.includes(one));
  if (other !== undefined) throw refusal(400, `${key}: not together with ${other.slice(0, 100)}`);
  const ids = values(query, key).filter(isId);
  if (ids.length > most) throw refusal(400, `${key}: up to ${most} ids a call`);
  // No other call of Tock checks the key.
  if (ids.length === 0) await checkKey(tock);
  return ids;
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

/** Where a search looks: a queue and a state of Tock's list, or all. */
export type Place = { queue?: string; state?: string };

/** The queues that a filter names. */
export function namedQueues({ query }: Call): string[] {
  const names = new Set(values(query, 'queueName'));
  if (names.size > MAX_QUERIES) throw refusal(400, `queueName: up to ${MAX_QUERIES} queues`);
  return [...names].map(tockQueue);
}

/** The places of these states (none: any) in the queues of a filter, or in all that the key allows. */
export async function placesOf(call: Call, ...states: string[]): Promise<Place[]> {
  const named = namedQueues(call);
  const queues = named.length > 0 ? named : await allowedQueues(call.tock);
  const inQueues = (place: Place) => queues?.map((queue) => ({ ...place, queue })) ?? [place];
  return states.length > 0 ? states.flatMap((state) => inQueues({ state })) : inQueues({});
}

/** The queries of Tock's list that together find what the filters ask for. */
function queriesFor(
  { query }: Call,
  places: readonly Place[],
  further: readonly string[],
  within: object,
): URLSearchParams[] {
  const known = [...Object.keys(parts), ...others, ...further];
  const unknown = [...query.keys()].find((name) => !known.includes(name));
  if (unknown !== undefined) throw refusal(400, `unknown filter ${unknown.slice(0, 100)}`);
  let contained = [within];
  for (const [name, part] of Object.entries(parts)) {
    const wanted = values(query, name);
    if (wanted.length === 0) continue;
    if (wanted.length * contained.length > MAX_QUERIES)
      throw refusal(400, 'too many values of filters');
    contained = wanted.flatMap((value) => contained.map((one) => ({ ...one, ...part(value) })));
  }
  const [from, to] = [instant(query, 'fromDate'), instant(query, 'toDate')];
  return places.flatMap((place) =>
    contained.map((qstash) => {
      const fields = { ...place, from, to, payload: JSON.stringify({ qstash }) };
      const set = Object.entries(fields).flatMap(([name, value]) => (value ? [[name, value]] : []));
      return new URLSearchParams(set);
    }),
  );
}

export type Page = { ids: string[]; cursor?: string };

/** Finds the ids of messages, newest first in each query. The cursor is the number of a query and its own cursor. */
export async function findIds(
  call: Call,
  places: readonly Place[],
  count: number,
  further: readonly string[] = [],
  from = call.query.get('cursor'),
  /** Further parts of the messages. */
  within: object = {},
): Promise<Page> {
  const queries = queriesFor(call, places, further, within);
  const position = /^(\d{1,6})-([0-9a-f]*)$/.exec(from || '0-');
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
  if (!isId(id)) return null;
  const task = unlessMissing(await tock('GET', `/v1/tasks/${id}`)) as TockTask | null;
  const message = messageOf(task?.payload);
  return task && message && { task, message };
}

/** The messages of some ids, without those that do not exist. */
export const readMessages = async (
  tock: CallTock,
  ids: readonly string[],
): Promise<MessageTask[]> =>
  (await forEach(ids, (id) => readMessage(tock, id))).flatMap((message) => message ?? []);
