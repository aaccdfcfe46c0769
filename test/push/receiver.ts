import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll } from 'vitest';
import type { Claimed } from '../../client/types.ts';
import { deliver } from '../../functions/push/deliver.ts';
import { postByFetch } from '../../functions/push/post.ts';
import { secretsOf } from '../../functions/push/secret.ts';
import { conditionTimeout } from '../timeout.ts';

export type ReceivedRequest = {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  body: string;
};

/** A function that answers the requests of a path. */
export type Answering = (response: ServerResponse, got: ReceivedRequest, count: number) => void;

export type Receiver = {
  url: string;
  got: ReceivedRequest[];
  /** The number of requests that are not answered yet. */
  open(): number;
  /** Sets how a path is answered: by a status or a function. Default: 200 {"ok":true}. */
  on(path: string, answering: Answering | number): string;
  at(path: string): ReceivedRequest[];
  close(): Promise<void>;
};

async function receiver(): Promise<Receiver> {
  const got: ReceivedRequest[] = [];
  const answers = new Map<string, Answering>();
  let open = 0;
  const server = createServer(async (request, response) => {
    open++;
    response.on('close', () => open--);
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const path = (request.url ?? '').replace(/\?.*/, '');
    const body = Buffer.concat(chunks).toString();
    const { method = '', headers } = request;
    const delivery = { method, path, headers, body };
    got.push(delivery);
    const count = got.filter((other) => other.path === path).length;
    const answering = answers.get(path);
    if (answering) return answering(response, delivery, count);
    response.setHeader('content-type', 'application/json').end('{"ok":true}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    got,
    open: () => open,
    on(path, answering) {
      const plain: Answering = (response) => response.writeHead(answering as number).end();
      answers.set(path, typeof answering === 'number' ? plain : answering);
      return `${url}${path}`;
    },
    at: (path) => got.filter((delivery) => delivery.path === path),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** The receiver of the test file. */
export let there: Receiver;

export function useReceiver(): void {
  beforeAll(async () => {
    there = await receiver();
  });
  afterAll(() => there.close());
}

/** The bindings of a Worker that may push to this machine. */
export const env = { TOCK_PUSH_SECRET: 'm'.repeat(32), TOCK_PUSH_PRIVATE: 'allow' };

/** The secrets of the queue `q`, without a rotation. */
export const secretsAt = (generation = 1) =>
  secretsOf(env, { queue: 'q', generation, previous_until: null });

/** Pushes a task as the Worker does. */
export async function push(url: string, task: Partial<Claimed> = {}, generation = 1) {
  const signal = AbortSignal.timeout(conditionTimeout);
  const secrets = await secretsAt(generation);
  return deliver(url, claimToPush(task), { env, post: postByFetch, secrets, signal });
}

/** Verifies a request as a receiver does. Throws if none of its signatures is by this secret. */
export const verify = (
  secret: string,
  { body, headers }: Pick<ReceivedRequest, 'body' | 'headers'>,
) => new Webhook(secret).verify(body, headers as Record<string, string>);

/** A task as a claim returns it. */
export const claimToPush = (more: Partial<Claimed> = {}): Claimed => ({
  id: '77',
  run_id: '78',
  queue: 'q',
  attempt: 2,
  max_attempts: 10,
  priority: 5,
  tenant: null,
  created_at: '',
  payload: { a: 1 },
  headers: null,
  push_url: null,
  steps: null,
  ...more,
});
