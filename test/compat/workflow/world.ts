import type { ServerResponse } from 'node:http';
import { Client as QStash, Receiver } from '@upstash/qstash';
import { Client, serve, type WorkflowContext } from '@upstash/workflow';
import { beforeAll } from 'vitest';
import { type Delivery, useQstash, world } from '../qstash/world.ts';

type Options = Pick<NonNullable<Parameters<typeof serve>[1]>, 'failureFunction' | 'qstashClient'>;

/** Upstash's own client with a key of all rights. */
export let client: Client;

/** Starts Tock and a receiver for the tests of a file. */
export function useWorkflow(): void {
  useQstash();
  beforeAll(() => {
    client = new Client({ baseUrl: world.url, token: world.tock.key, retry: false });
  });
}

export type Handler = (request: Request) => Promise<Response>;

/** Answers a delivery as a framework would: by a Request and a Response. */
export async function answer(
  handler: Handler,
  { path, method, headers, bytes }: Delivery,
  outgoing: ServerResponse,
): Promise<void> {
  const all = Object.entries(headers).map(([name, value]) => [name, String(value)] as const);
  const request = new Request(`${world.receiver}${path}`, {
    method,
    headers: new Headers(all.map(([name, value]) => [name, value])),
    body: method === 'GET' ? null : new Uint8Array(bytes),
  });
  const response = await handler(request);
  outgoing.writeHead(response.status, Object.fromEntries(response.headers));
  outgoing.end(await response.text());
}

/** What Upstash's own serve() makes of a workflow. */
export async function handlerOf<T = unknown>(
  route: (context: WorkflowContext<T>) => Promise<unknown>,
  options: Options = {},
): Promise<Handler> {
  const { current, next } = await world.keys();
  const { handler } = serve<T>(route, {
    qstashClient: new QStash({ baseUrl: world.url, token: world.tock.key, retry: false }),
    receiver: new Receiver({ currentSigningKey: current, nextSigningKey: next }),
    ...options,
  });
  return handler;
}

/** Serves a workflow at a path, and returns its URL. */
export async function serveAt<T = unknown>(
  path: string,
  route: (context: WorkflowContext<T>) => Promise<unknown>,
  options?: Options,
): Promise<string> {
  const handler = await handlerOf(route, options);
  return world.on(path, (response, delivery) => void answer(handler, delivery, response));
}
