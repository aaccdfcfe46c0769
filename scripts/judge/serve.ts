import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ReadableStream } from 'node:stream/web';
import { type Bindings, createWorker } from '../../functions/worker.ts';

/**
 * Serves a Worker as Cloudflare does, with a cron trigger each second.
 * @param port 0 for any free one
 * @param change changes the headers of each request
 */
export async function serve(
  env: Bindings,
  port: number,
  change: (headers: IncomingHttpHeaders) => void,
): Promise<{ url: string; close(): Promise<void> }> {
  const worker = createWorker();
  const log = (error: unknown) => console.error(error);
  /** What goes on after its response. */
  const after = new Set<Promise<unknown>>();
  const execution = {
    waitUntil(promise: Promise<unknown>) {
      const work = promise.catch(log).finally(() => after.delete(work));
      after.add(work);
    },
    passThroughOnException() {},
  };
  const server = createServer(async (incoming, outgoing) => {
    const { method = 'GET' } = incoming;
    change(incoming.headers);
    const body = method === 'GET' ? null : (ReadableStream.from(incoming) as BodyInit);
    const init = { method, headers: incoming.headers, body, duplex: 'half' } as RequestInit;
    const response = await worker.fetch(new Request(`${url}${incoming.url}`, init), env, execution);
    outgoing.writeHead(response.status, Object.fromEntries(response.headers));
    outgoing.end(Buffer.from(await response.arrayBuffer()));
  });
  await new Promise<void>((listening) => server.listen(port, '127.0.0.1', listening));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  let open = true;
  let running: Promise<void> = Promise.resolve();
  const tick = () => {
    if (!open) return;
    running = worker.scheduled({}, env).catch(log);
    void running.then(() => setTimeout(tick, 1000));
  };
  tick();
  return {
    url,
    async close() {
      open = false;
      server.close();
      server.closeAllConnections();
      await running;
      while (after.size > 0) await Promise.all(after);
    },
  };
}
