import { z } from '@hono/zod-openapi';
import type { CallTock } from '../adapter.ts';
import { expectOk } from '../calls.ts';
import { attributesOfQueue, newQueue, type Policy, policiesOf, type Queue } from './attributes.ts';
import { fault, invalid } from './faults.ts';
import { ACCOUNT, type Call, isFifo, names, queueOf, read, whole } from './input.ts';

/** A purge ends up to a million messages in a call. */
const MAX_PURGES = 20;

const urlOf = (origin: string, queue: string) => `${origin}/${ACCOUNT}/${queue}`;
const route = (queue: string) => `/v1/queues/${queue}`;

async function getQueue(tock: CallTock, name: string): Promise<Queue | null> {
  const answer = await tock('GET', route(name));
  return answer.status === 404 ? null : expectOk(answer);
}

async function needQueue(tock: CallTock, name: string): Promise<Queue> {
  const queue = await getQueue(tock, name);
  if (queue) return queue;
  throw fault('QueueDoesNotExist', 'The specified queue does not exist.');
}

function nameIn(input: unknown): string {
  const { QueueName } = read(z.object({ QueueName: z.string() }), input);
  if (QueueName.length <= 80 && /^[A-Za-z0-9][\w-]*(\.fifo)?$/.test(QueueName)) return QueueName;
  throw invalid(
    'The name of a queue can only include letters, digits, hyphens and underscores, up to 80. It begins with a letter or digit.',
  );
}

export async function createQueue({ tock, input, origin }: Call): Promise<object> {
  const name = nameIn(input);
  const policies = policiesOf(input, name);
  if (isFifo(name) && !policies.some(([attribute]) => attribute === 'FifoQueue')) {
    throw invalid('A FIFO queue has the attribute FifoQueue, and a name that ends in .fifo.');
  }
  const queue = await getQueue(tock, name);
  for (const [attribute, policy] of queue ? policies : []) {
    const isOther = Object.entries(policy).some(
      ([key, value]) => queue?.[key as keyof Queue] !== value,
    );
    if (!isOther) continue;
    throw fault(
      'QueueNameExists',
      `A queue already exists with the same name and a different value for attribute ${attribute}.`,
    );
  }
  if (!queue) {
    const policy: Policy = Object.assign({}, newQueue, ...policies.map(([, policy]) => policy));
    expectOk(await tock('PUT', route(name), policy));
  }
  return { QueueUrl: urlOf(origin, name) };
}

export async function getQueueUrl({ tock, input, origin }: Call): Promise<object> {
  const { name } = await needQueue(tock, nameIn(input));
  return { QueueUrl: urlOf(origin, name) };
}

const listing = z.object({
  QueueNamePrefix: z.string().nullish(),
  MaxResults: whole(1, 1000).nullish(),
  NextToken: z.string().nullish(),
});

/** A key for some queues lists these, whether they exist or not: Tock lists all queues to keys for all queues only. */
async function allNames(tock: CallTock): Promise<string[]> {
  const answer = await tock('GET', '/v1/queues');
  if (answer.status === 403) {
    const { queues } = expectOk(await tock('GET', '/v1/key'));
    if (queues) return queues;
  }
  return expectOk(answer).queues.map(({ name }: Queue) => name);
}

export async function listQueues({ tock, input, origin }: Call): Promise<object> {
  const { QueueNamePrefix, MaxResults, NextToken } = read(listing, input);
  const matching = (await allNames(tock))
    .filter((name) => name.startsWith(QueueNamePrefix ?? '') && name > (NextToken ?? ''))
    .toSorted();
  const page = matching.slice(0, MaxResults ?? 1000);
  const isCut = MaxResults && page.length < matching.length;
  return {
    ...(page.length > 0 && { QueueUrls: page.map((name) => urlOf(origin, name)) }),
    ...(isCut && { NextToken: page.at(-1) }),
  };
}

export async function getQueueAttributes({ tock, input }: Call): Promise<object> {
  const { AttributeNames } = read(z.object({ AttributeNames: names.nullish() }), input);
  const queue = await needQueue(tock, queueOf(input));
  const Attributes = attributesOfQueue(queue, AttributeNames ?? []);
  return Object.keys(Attributes).length === 0 ? {} : { Attributes };
}

export async function setQueueAttributes({ tock, input }: Call): Promise<object> {
  const policies = policiesOf(input, queueOf(input));
  const { name } = await needQueue(tock, queueOf(input));
  const policy: Policy = Object.assign({}, ...policies.map(([, policy]) => policy));
  expectOk(await tock('PUT', route(name), policy));
  return {};
}

export async function purgeQueue({ tock, input }: Call): Promise<object> {
  const { name, running } = await needQueue(tock, queueOf(input));
  // Messages in flight are deleted too. A maintenance job does it, before most of them can be visible again.
  if (running > 0) {
    const change = { change: 'cancel', state: 'running' };
    expectOk(await tock('POST', `${route(name)}/bulk-changes`, change));
  }
  for (let n = 0; n < MAX_PURGES; n++) {
    const { more, busy } = expectOk(await tock('POST', `${route(name)}/purge`, {}));
    if (!more && busy === 0) break;
  }
  return {};
}

export async function deleteQueue({ tock, input }: Call): Promise<object> {
  const queue = queueOf(input);
  const { dropped, running } = expectOk(await tock('DELETE', `${route(queue)}?force=true`));
  if (dropped) return {};
  throw fault(
    'UnsupportedOperation',
    `The queue has ${running} messages in flight. Delete it again when they are deleted or visible.`,
  );
}

/** Tock has no tags. Programs that set some when they create a queue work all the same. */
export async function ignoreTags({ tock, input }: Call): Promise<object> {
  await needQueue(tock, queueOf(input));
  return {};
}
