import { refusal } from '../../http/problem.ts';
import { expectOk } from '../calls.ts';
import { type Call, type Handler, json } from './call.ts';
import {
  countIn,
  findIds,
  idsIn,
  isId,
  namedQueues,
  type Page,
  type Place,
  placesOf,
  qstashQueues,
  readMessage,
} from './search.ts';
import { viewOf } from './view.ts';

const noMessage = (id: string) => refusal(404, `message ${id.slice(0, 100)} not found`);
/** A bulk call cancels at most this many messages. */
const MOST = 1000;
const MAX_SEARCHES = 10;
/** In this order a search also finds a message that becomes due, or whose delivery fails, meanwhile. */
const unfinished = ['waiting', 'ready', 'running', 'waiting'];

export const getMessage: Handler = async ({ tock }, id = '') => {
  const message = await readMessage(tock, id);
  if (!message) throw noMessage(id);
  return json(await viewOf(message));
};

type Cancelled = { id: string; state: string; changed: boolean };

/** The number of messages that are cancelled. */
async function cancel({ tock }: Call, ids: readonly string[]): Promise<number> {
  if (ids.length === 0) return 0;
  const { tasks } = expectOk(await tock('POST', '/v1/tasks/cancel', { ids })) as {
    tasks: Cancelled[];
  };
  const changed = tasks.filter((task) => task.changed);
  // A delivery that failed at this moment would be tried once more.
  const running = changed.filter(({ state }) => state === 'running').map(({ id }) => id);
  if (running.length > 0) expectOk(await tock('POST', '/v1/tasks/cancel', { ids: running }));
  return changed.length;
}

export const cancelMessage: Handler = async (call, id = '') => {
  if (!isId(id) || (await cancel(call, [id])) === 0) throw noMessage(id);
  return json({ cancelled: 1 });
};

/** Where a key's unfinished messages may be: without the queues of Tock's own tasks, which may be many. */
async function unfinishedPlaces(call: Call): Promise<Place[]> {
  if (namedQueues(call).length > 0) return placesOf(call, ...unfinished);
  const queues = await qstashQueues(call.tock);
  if (!queues) return unfinished.map((state) => ({ state }));
  return queues
    .filter(({ waiting, ready, running }) => waiting !== 0 || ready !== 0 || running !== 0)
    .flatMap(({ name }) => unfinished.map((state) => ({ queue: name, state })));
}

/** Cancels up to a number of the messages that match. An answer of 0 tells the client that none is left. */
export const cancelMessages: Handler = async (call) => {
  const named = await idsIn(call, 'messageIds');
  if (named) return json({ cancelled: await cancel(call, named) });
  const places = await unfinishedPlaces(call);
  const count = countIn(call.query, MOST, MOST);
  const seen = new Set<string>();
  let cancelled = 0;
  let cursor: string | null = null;
  for (let n = 0; n < MAX_SEARCHES && seen.size < count; n++) {
    const page: Page = await findIds(call, places, count, [], cursor);
    const fresh = page.ids.filter((id) => !seen.has(id)).slice(0, count - seen.size);
    cancelled += await cancel(call, fresh);
    for (const id of fresh) seen.add(id);
    // A delivery may have added a callback meanwhile, so the search is repeated until it finds nothing new.
    if (fresh.length === 0 && !page.cursor) return json({ cancelled });
    cursor = page.cursor ?? null;
  }
  if (seen.size > 0) return json({ cancelled });
  throw refusal(
    422,
    'The filter matches none of the newest messages: add a queueName, or give messageIds.',
  );
};
