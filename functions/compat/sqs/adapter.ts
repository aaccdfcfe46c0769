import type { Adapter } from '../adapter.ts';
import { readForeignText } from '../foreign_body.ts';
import { fault, faultHeaders, faultOf } from './faults.ts';
import type { Operation } from './input.ts';
import { json } from './protocol.ts';
import { query } from './query.ts';
import {
  createQueue,
  deleteQueue,
  getQueueAttributes,
  getQueueUrl,
  ignoreTags,
  listQueues,
  purgeQueue,
  setQueueAttributes,
} from './queues.ts';
import { receiveMessage } from './receive.ts';
import { sendMessage, sendMessageBatch } from './send.ts';
import {
  changeMessageVisibility,
  changeMessageVisibilityBatch,
  deleteMessage,
  deleteMessageBatch,
} from './settle.ts';

const operations = new Map<string, Operation>([
  ['SendMessage', sendMessage],
  ['SendMessageBatch', sendMessageBatch],
  ['ReceiveMessage', receiveMessage],
  ['DeleteMessage', deleteMessage],
  ['DeleteMessageBatch', deleteMessageBatch],
  ['ChangeMessageVisibility', changeMessageVisibility],
  ['ChangeMessageVisibilityBatch', changeMessageVisibilityBatch],
  ['CreateQueue', createQueue],
  ['DeleteQueue', deleteQueue],
  ['GetQueueUrl', getQueueUrl],
  ['ListQueues', listQueues],
  ['GetQueueAttributes', getQueueAttributes],
  ['SetQueueAttributes', setQueueAttributes],
  ['PurgeQueue', purgeQueue],
  ['TagQueue', ignoreTags],
  ['UntagQueue', ignoreTags],
  ['ListQueueTags', ignoreTags],
]);

const protocols = [json, query];
const protocolOf = (request: Request) => protocols.find(({ matches }) => matches(request));

/** SQS's protocols. The signature of a request is not checked: Tock has no secret for it, only the hash of a key. */
export const sqs: Adapter = {
  name: 'sqs',
  matches: (request) => protocolOf(request) !== undefined,
  // Programs on AWS have a session token of their own, so a key is known by its first letters.
  keyOf({ url, headers }) {
    const { searchParams } = new URL(url);
    const credential =
      /\bCredential=([^,\s]+)/.exec(headers.get('authorization') ?? '')?.[1] ??
      searchParams.get('X-Amz-Credential');
    const keys = [
      headers.get('x-amz-security-token'),
      searchParams.get('X-Amz-Security-Token'),
      credential?.split('/')[0],
    ];
    return keys.find((key) => key?.startsWith('tock_')) ?? null;
  },
  async handle(c, tock) {
    const protocol = protocolOf(c.req.raw) ?? json;
    const requestId = c.get('requestId');
    const headers = { 'Content-Type': protocol.contentType, 'x-amzn-RequestId': requestId };
    try {
      const { name, input } = protocol.read(c.req.raw, await readForeignText(c, tock));
      const operation = operations.get(name);
      if (!operation) {
        throw fault('UnsupportedOperation', `Tock does not have ${name.slice(0, 100)}.`);
      }
      const { origin } = new URL(c.req.url);
      const body = await operation({ tock, input, origin, disconnected: c.req.raw.signal });
      return c.body(protocol.answer(name, body, requestId), 200, headers);
    } catch (error) {
      const refused = faultOf(error);
      const own = { ...headers, ...faultHeaders(refused) };
      return c.body(protocol.refusal(refused, requestId), refused.status, own);
    }
  },
};
