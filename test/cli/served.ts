import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { connect } from '../../functions/database/connect.ts';
import { createApp } from '../../functions/http/app.ts';
import type { Database } from '../database.ts';

export type ServedApp = {
  url: string;
  /** The requests in order, like `POST /v1/…`. */
  calls: string[];
  /** The number of requests that it is working on. */
  busy(): number;
  /** Answers the next `count` calls with a 503, without doing them. */
  refuse(count: number): void;
  /** Does the next `count` calls, but answers them with a 503. */
  lose(count: number): void;
  /** Closes all open connections. */
  hangUp(): void;
  close(): void;
};

/** The real app on a Node server. */
export async function serveApp(db: Database, env: object = {}): Promise<ServedApp> {
  const calls: string[] = [];
  let busy = 0;
  let refuseNext = 0;
  let loseNext = 0;
  const app = createApp(connect);
  async function answer(incoming: IncomingMessage, outgoing: ServerResponse): Promise<unknown> {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk);
    calls.push(`${incoming.method} ${incoming.url}`);
    if (refuseNext-- > 0) return outgoing.writeHead(503).end();
    const request = new Request(`http://tock${incoming.url}`, {
      method: incoming.method ?? 'GET',
      headers: incoming.headers as Record<string, string>,
      ...(chunks.length > 0 && { body: Buffer.concat(chunks) }),
    });
    const response = await app.fetch(request, { ...env, DATABASE_URL: db.edgeUrl });
    if (loseNext-- > 0) return outgoing.writeHead(503).end();
    outgoing.writeHead(response.status, Object.fromEntries(response.headers));
    return outgoing.end(Buffer.from(await response.arrayBuffer()));
  }
  const server = createServer(async (incoming, outgoing) => {
    busy++;
    await answer(incoming, outgoing).finally(() => busy--);
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    calls,
    busy: () => busy,
    refuse(count) {
      refuseNext = count;
    },
    lose(count) {
      loseNext = count;
    },
    hangUp: () => server.closeAllConnections(),
    close() {
      server.close();
    },
  };
}
