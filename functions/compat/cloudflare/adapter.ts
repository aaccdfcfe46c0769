import { parseObject } from '../../http/body.ts';
import { refusal } from '../../http/problem.ts';
import type { Adapter } from '../adapter.ts';
import { parseExactly } from '../exact_json.ts';
import { readForeignText } from '../foreign_body.ts';
import { ack } from './ack.ts';
import { failure, success } from './envelope.ts';
import { type Call, pull, push, pushBatch } from './messages.ts';
import { peek, purge } from './peek.ts';

const foreign = /^https?:\/\/[^/]+\/(client\/v4|accounts)\//;
const route =
  /^(?:\/client\/v4)?\/accounts\/[^/]+\/queues\/([^/]+)\/messages(?:\/(batch|pull|ack|peek|purge))?$/;

type Verb = (call: Call) => Promise<object>;
const verbs: Record<string, Verb> = { push, batch: pushBatch, pull, ack, peek, purge };

/** The verb of a request, and its queue as a part of a path. */
function target({ method, url }: Request): { verb: Verb; queue: string } {
  const { pathname } = new URL(url);
  const [, name, verb = 'push'] = route.exec(pathname) ?? [];
  if (name === undefined || method !== 'POST') {
    throw refusal(404, `There is no route ${method} ${pathname.slice(0, 500)}.`);
  }
  try {
    return { verb: verbs[verb] as Verb, queue: encodeURIComponent(decodeURIComponent(name)) };
  } catch {
    throw refusal(422, 'queue: must be UTF-8', { field: 'queue' });
  }
}

/** Cloudflare's API of a queue's messages. The queue's id is the name of a queue; the account's is ignored. */
export const cloudflare: Adapter = {
  name: 'cloudflare',
  matches: ({ url }) => foreign.test(url),
  keyOf({ headers }) {
    const [, token] = /^Bearer +(\S+) *$/i.exec(headers.get('Authorization') ?? '') ?? [];
    return token ?? headers.get('X-Auth-Key');
  },
  async handle(c, tock) {
    try {
      const { verb, queue } = target(c.req.raw);
      const text = (await readForeignText(c, tock)) || '{}';
      // The first parse finds what is invalid, before the second keeps the digits of numbers.
      parseObject(text);
      return success(c, await verb({ tock, queue, body: parseExactly(text) }));
    } catch (error) {
      return failure(c, error as Error);
    }
  },
};
