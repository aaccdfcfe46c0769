import { MAX_BYTES, MAX_ITEMS } from '../../http/body.ts';
import { refusal } from '../../http/problem.ts';
import type { CallTock } from '../adapter.ts';
import { expectOk } from '../calls.ts';
import { isOfRun, itemOfRun, runReader } from '../workflow/publish.ts';
import { type Call, type Handler, json, parseJson } from './call.ts';
import { destinationOf } from './destination.ts';
import { setFlow } from './flow_control.ts';
import { bodyOf, bytesOf, type Message } from './message.ts';
import { PUBLISHED, tockQueue } from './names.ts';
import { type Options, optionsOf } from './options.ts';
import { openQueue, readyQueue } from './queues.ts';
import { putSchedule } from './schedules.ts';
import { readMessages } from './search.ts';
import { checkCallbacks, type Item, messageTo, type Task, taskOf, withUniqueKey } from './task.ts';
import { type Endpoint, endpointsOf } from './url_groups.ts';

const MAX_MESSAGES = 1000;
/** What the database's form of a payload may have in addition: a space after each comma and colon between fields. */
const SPARE_BYTES = 4096;

const sizeOf = (value: unknown) => bytesOf(JSON.stringify(value)).length;

type Published = { messageId: string; url: string; deduplicated?: true };
type ReadGroup = (name: string) => Promise<Endpoint[]>;

/** Reads each URL group once. */
function groupReader(tock: CallTock): ReadGroup {
  const groups = new Map<string, Promise<Endpoint[]>>();
  return (name) => {
    const endpoints = groups.get(name) ?? endpointsOf(tock, name);
    groups.set(name, endpoints);
    return endpoints;
  };
}

/** A URL group multiplies a message, so a small body may become a large call. */
function refuseTooMuch(tasks: number, bytes: number): void {
  if (tasks > MAX_ITEMS || bytes > MAX_BYTES)
    throw refusal(413, 'The messages are too many or too large for one call.');
}

async function itemOf(
  { env }: Call,
  readGroup: ReadGroup,
  destination: string,
  options: Options,
  body: Pick<Message, 'body' | 'base64'>,
  queueName: string | undefined,
): Promise<Item> {
  checkCallbacks(options, env);
  const queue = queueName === undefined ? PUBLISHED : tockQueue(queueName);
  const to = destinationOf(destination, env);
  const endpoints =
    'url' in to
      ? [{ url: to.url, more: {} }]
      : (await readGroup(to.group)).map(({ url, name }) => ({
          url,
          more: { topic: to.group, endpoint: name },
        }));
  refuseTooMuch(endpoints.length, endpoints.length * body.body.length);
  const tasks = endpoints.map(({ url, more }) => {
    const message = messageTo(url, options, body, more);
    return withUniqueKey(taskOf(message, options, queue), options);
  });
  return {
    isGroup: 'group' in to,
    queue,
    tasks: await Promise.all(tasks),
    ...(options.flow && { flow: options.flow }),
  };
}

/** Enqueues the tasks of one queue in one call, which adds all or none. The first use of a queue prepares it. */
async function enqueue(tock: CallTock, queue: string, tasks: Task[]): Promise<string[]> {
  const send = () => tock('POST', `/v1/queues/${queue}/tasks`, { tasks });
  let answer = await send();
  if (answer.status === 422 && /has no push/.test(answer.body.detail)) {
    await openQueue(tock, queue);
    answer = await send();
  }
  return expectOk(answer).ids;
}

/** Refuses what a later queue would refuse after an earlier one has accepted its part. */
async function checkQueues(tock: CallTock, byQueue: Map<string, Task[]>): Promise<void> {
  for (const [queue, tasks] of byQueue) {
    const { max_payload_bytes } = await readyQueue(tock, queue);
    if (tasks.some(({ payload }) => sizeOf(payload) + SPARE_BYTES > max_payload_bytes))
      throw refusal(413, `A message of this queue has up to ${max_payload_bytes} bytes.`);
    refuseTooMuch(tasks.length, sizeOf({ tasks }));
  }
}

/** The tasks whose unique key another one has. A key that may not read does not learn it. */
async function duplicatesOf(tock: CallTock, idOf: Map<Task, string>): Promise<Set<Task>> {
  const unique = [...idOf].filter(([task]) => task.payload.qstash.nonce !== undefined);
  const messages = await readMessages(tock, [...new Set(unique.map(([, id]) => id))]).catch(
    () => [],
  );
  const nonces = new Map(messages.map(({ task, message }) => [task.id, message.nonce]));
  const isDuplicate = ([{ payload }, id]: [Task, string]) =>
    nonces.has(id) && nonces.get(id) !== payload.qstash.nonce;
  return new Set(unique.filter(isDuplicate).map(([task]) => task));
}

/** Publishes items; returns for each a message, or a list of them. */
async function publishItems(tock: CallTock, items: Item[]): Promise<(Published | Published[])[]> {
  const byQueue = new Map<string, Task[]>();
  for (const { queue, tasks } of items) {
    const ofQueue = byQueue.get(queue) ?? [];
    ofQueue.push(...tasks);
    byQueue.set(queue, ofQueue);
  }
  if (byQueue.size > 1) await checkQueues(tock, byQueue);
  // The last message with a key decides, as with single calls.
  const flows = new Map(items.flatMap(({ flow }) => (flow ? [[flow.key, flow] as const] : [])));
  for (const flow of flows.values()) await setFlow(tock, flow);
  const idOf = new Map<Task, string>();
  for (const [queue, tasks] of byQueue) {
    const ids = tasks.length > 0 ? await enqueue(tock, queue, tasks) : [];
    for (const [n, task] of tasks.entries()) idOf.set(task, ids[n] as string);
  }
  const duplicates = await duplicatesOf(tock, idOf);
  const publishedOf = (task: Task): Published => ({
    messageId: idOf.get(task) as string,
    url: task.push_url,
    ...(duplicates.has(task) && { deduplicated: true }),
  });
  return items.map(({ isGroup, tasks }) => {
    const published = tasks.map(publishedOf);
    return isGroup ? published : (published[0] as Published);
  });
}

async function publishOne(call: Call, destination: string, queueName?: string): Promise<Response> {
  if (isOfRun(call.headers)) {
    const body = bodyOf(await call.bytes());
    const item = await itemOfRun(call, runReader(call), destination, call.headers, body, queueName);
    const [published] = await publishItems(call.tock, [item]);
    return json(published, 201);
  }
  const options = optionsOf(call.headers);
  const body = bodyOf(await call.bytes());
  if (options.cron !== undefined) {
    const queued = { ...options, queue: queueName ?? options.queue };
    return putSchedule(call, destinationOf(destination, call.env), queued, body);
  }
  const item = await itemOf(call, groupReader(call.tock), destination, options, body, queueName);
  const [published] = await publishItems(call.tock, [item]);
  const isDuplicate = [published].flat().every((one) => one?.deduplicated);
  return json(published, isDuplicate && item.tasks.length > 0 ? 202 : 201);
}

export const publish: Handler = async (call, destination = '') => publishOne(call, destination);

export const enqueueTo: Handler = async (call, queueName = '', destination = '') =>
  publishOne(call, destination, queueName);

function headersOf(value: unknown): Headers {
  try {
    return new Headers((value ?? {}) as Record<string, string>);
  } catch {
    throw refusal(400, 'headers: an object of header names and values');
  }
}

export const batch: Handler = async (call) => {
  const list = parseJson(await call.bytes());
  if (!Array.isArray(list) || list.length === 0 || list.length > MAX_MESSAGES) {
    const names = Object.keys(Object(Object(Object(list)[0]).headers));
    // A workflow would take a 400 for the end of its run.
    const ofRun = names.some((name) => name.toLowerCase() === 'upstash-workflow-runid');
    throw refusal(ofRun ? 422 : 400, `The body must be a list of 1 to ${MAX_MESSAGES} messages.`);
  }
  const items: Item[] = [];
  const [readGroup, readRun] = [groupReader(call.tock), runReader(call)];
  const batchItem = (
    n: number,
    destination: string,
    headers: Headers,
    body: Pick<Message, 'body' | 'base64'>,
    queue?: string,
  ) => {
    const options = optionsOf(headers);
    if (options.cron !== undefined) throw refusal(400, `message ${n}: a batch has no schedules`);
    return itemOf(call, readGroup, destination, options, body, queue);
  };
  let [tasks, bytes] = [0, 0];
  for (const [n, entry] of list.entries()) {
    const { destination, headers, body = '', queue } = Object(entry);
    const read = headersOf(headers);
    // A workflow would take a 400 for the end of its run.
    if (typeof destination !== 'string' || typeof (body ?? '') !== 'string')
      throw refusal(
        isOfRun(read) ? 422 : 400,
        `message ${n}: it has a destination and a body, both strings`,
      );
    if (queue !== undefined && queue !== null && typeof queue !== 'string')
      throw refusal(400, `message ${n}: queue is the name of a queue`);
    const content = bodyOf(bytesOf(body ?? ''));
    const item = isOfRun(read)
      ? await itemOfRun(call, readRun, destination, read, content, queue || undefined)
      : await batchItem(n, destination, read, content, queue || undefined);
    tasks += item.tasks.length;
    bytes += item.tasks.length * content.body.length;
    refuseTooMuch(tasks, bytes);
    items.push(item);
  }
  return json(await publishItems(call.tock, items));
};
