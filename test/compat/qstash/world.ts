import {
  createServer,
  type IncomingHttpHeaders,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { ReadableStream } from 'node:stream/web';
import { Client, Receiver } from '@upstash/qstash';
import { afterAll, beforeAll, vi } from 'vitest';
import { drain } from '../../../functions/consumers/drain.ts';
import { createApp } from '../../../functions/http/app.ts';
import { withPush } from '../../../functions/push/consumers.ts';
import { type Service, service } from '../../http/service.ts';
import { promote } from '../../sql/verbs.ts';

/** A delivery that the receiver got, and whether QStash's own Receiver accepts its signature. */
export type Delivery = {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  bytes: Buffer;
  body: string;
  verified: boolean;
};
type Answering = (response: ServerResponse, delivery: Delivery, count: number) => void;

export type World = {
  tock: Service;
  bindings: Record<string, string>;
  /** QStash's client with a key of all rights. */
  qstash: Client;
  /** The address of Tock, and of the receiver. */
  url: string;
  receiver: string;
  clientFor(key: string): Client;
  got: Delivery[];
  at(path: string): Delivery[];
  /** Sets how the receiver answers a path, and returns its URL. Default: 200. */
  on(path: string, answering: Answering | number): string;
  /** Delivers all messages that are due. */
  deliver(): Promise<void>;
  /** Makes delayed messages and retries of a Tock queue due, and delivers them. */
  deliverLater(queue?: string): Promise<void>;
  /** The status and text of a request without the client. */
  send(
    route: string,
    init?: RequestInit,
  ): Promise<{ status: number; text: string; headers: Headers }>;
  keys(): Promise<{ current: string; next: string }>;
  close(): Promise<void>;
};

const listen = async (server: Server) => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
};

async function startWorld(): Promise<World> {
  const bindings = {
    TOCK_COMPAT: 'qstash',
    TOCK_PUSH_SECRET: 'm'.repeat(32),
    TOCK_PUSH_PRIVATE: 'allow',
  };
  const tock = await service(bindings);
  const app = createApp(tock.connect);
  const front = createServer(async (incoming, outgoing) => {
    const { method = 'GET' } = incoming;
    const body = method === 'GET' ? null : (ReadableStream.from(incoming) as BodyInit);
    const init = { method, headers: incoming.headers, body, duplex: 'half' } as RequestInit;
    const response = await app.fetch(new Request(`${url}${incoming.url}`, init), bindings);
    outgoing.writeHead(response.status, Object.fromEntries(response.headers));
    outgoing.end(Buffer.from(await response.arrayBuffer()));
  });
  const got: Delivery[] = [];
  const answers = new Map<string, Answering>();
  const back = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const path = request.url ?? '';
    const { method = '', headers } = request;
    const bytes = Buffer.concat(chunks);
    const signature = String(headers['upstash-signature']);
    const { current, next } = await made.keys();
    const verifier = new Receiver({ currentSigningKey: current, nextSigningKey: next });
    const signed = { signature, body: bytes.toString(), url: `${receiver}${path}` };
    const verified = await verifier.verify(signed).catch(() => false);
    const delivery = { method, path, headers, bytes, body: bytes.toString(), verified };
    got.push(delivery);
    const answering = answers.get(path);
    if (answering) answering(response, delivery, made.at(path).length);
    else response.end('{"ok":true}');
  });
  const [url, receiver] = [await listen(front), await listen(back)];
  const clientFor = (token: string) =>
    new Client({ baseUrl: url, token, retry: false, enableTelemetry: false });
  const qstash = clientFor(tock.key);
  const made: World = {
    tock,
    bindings,
    qstash,
    url,
    receiver,
    clientFor,
    got,
    at: (path) => got.filter((delivery) => delivery.path === path),
    on(path, answering) {
      const plain: Answering = (response) => response.writeHead(answering as number).end('no');
      answers.set(path, typeof answering === 'number' ? plain : answering);
      return `${receiver}${path}`;
    },
    async deliver() {
      for (let ended = 1; ended > 0; ) {
        await promote(tock.owner);
        const result = await drain(tock.connect, bindings, withPush([]), { on_error: () => {} });
        ended = result.done + result.failed;
      }
    },
    async deliverLater(queue = 'qstash') {
      // What waits for its concurrency key is due at infinity.
      await tock.owner.query(
        `update tock.waiting set due_at = now() - interval '1 second'
         where queue = $1 and due_at > now() and due_at < 'infinity'`,
        [queue],
      );
      await made.deliver();
    },
    async send(route, init = {}) {
      const [method = '', path = ''] = route.split(' ');
      const headers = new Headers(init.headers);
      if (!headers.has('authorization')) headers.set('authorization', `Bearer ${tock.key}`);
      const response = await fetch(`${url}${path}`, { ...init, method, headers });
      return { status: response.status, text: await response.text(), headers: response.headers };
    },
    keys: () =>
      qstash.http.request<{ current: string; next: string }>({
        path: ['v2', 'keys'],
        method: 'GET',
      }),
    async close() {
      for (const server of [front, back]) {
        server.close();
        server.closeAllConnections();
      }
      await tock.database.drop();
    },
  };
  return made;
}

/** The world of a test file. */
export let world: World;

export function useQstash(): void {
  beforeAll(async () => {
    // The client reports each refusal, which the tests expect.
    const log = console.error;
    vi.spyOn(console, 'error').mockImplementation((...text) => {
      if (!/^ *\[Upstash (QStash|Workflow)\]/.test(String(text[0]))) log(...text);
    });
    world = await startWorld();
  });
  afterAll(() => world.close());
}
