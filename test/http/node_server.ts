import { createServer } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { ReadableStream } from 'node:stream/web';
import type pg from 'pg';
import { connect as open } from '../../functions/database/connect.ts';
import type { Connect } from '../../functions/database/types.ts';
import type { Bindings } from '../../functions/env.ts';
import { createApp } from '../../functions/http/app.ts';
import { freshDatabase } from '../database.ts';

/** The app on a Node server that streams bodies, as examples/node-server does, with a new database. */
export type NodeServer = {
  owner: pg.Client;
  makeKey(): Promise<string>;
  send(key: string, route: string, body?: BodyInit): Promise<Response>;
  /** Writes bytes on a new connection. `answer` is the status, or null if the connection closed without an answer. */
  write(...parts: (string | Buffer)[]): { socket: Socket; answer: Promise<number | null> };
  /** The number of answered statements of this key. */
  statementCount(key: string): number;
  /** From now on the key's statements that contain these words wait until release() is called. */
  hold(key: string, words: string): { held(): number; release(): void };
  close(): Promise<void>;
};

export async function startNodeServer(bindings: Bindings = {}): Promise<NodeServer> {
  const database = await freshDatabase();
  const owner = await database.connect();
  const statementCounts = new Map<unknown, number>();
  let slow: { key: string; words: string; waiting: (() => void)[] } | null = null;
  const url = database.poolUrl ?? database.edgeUrl;
  const connection: Connect = (_env, use) =>
    open({ DATABASE_URL: url }, (query) =>
      use(async (text, values = []) => {
        const held = slow;
        if (held && values[0] === held.key && text.includes(held.words)) {
          await new Promise<void>((resolve) => held.waiting.push(resolve));
        }
        const rows = await query(text, values);
        statementCounts.set(values[0], (statementCounts.get(values[0]) ?? 0) + 1);
        return rows;
      }),
    );
  const app = createApp(connection);
  const server = createServer(async (incoming, outgoing) => {
    const gone = new AbortController();
    outgoing.on('close', () => gone.abort());
    const { method = 'GET' } = incoming;
    const init = {
      method,
      headers: incoming.headers,
      signal: gone.signal,
      duplex: 'half',
    } as RequestInit;
    const body = method === 'GET' ? null : (ReadableStream.from(incoming) as BodyInit);
    const request = new Request(`http://tock${incoming.url}`, { ...init, body });
    const response = await app.fetch(request, bindings);
    const headers = Object.fromEntries(response.headers);
    // After a body that was not read to its end, the connection cannot carry another request.
    if (!incoming.complete) headers.connection = 'close';
    outgoing.writeHead(response.status, headers);
    outgoing.end(Buffer.from(await response.arrayBuffer()));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    owner,
    async makeKey() {
      const { rows } = await owner.query(
        "select key from tock.create_key(p_name => 'k', p_scopes => '{enqueue,claim,read}')",
      );
      return rows[0].key;
    },
    send(key, route, body) {
      const [method = 'GET', path] = route.split(' ');
      const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
      const init = { method, headers, ...(body !== undefined && { body }) };
      return fetch(`http://127.0.0.1:${port}${path}`, init);
    },
    write(...parts) {
      const socket = connect(port, '127.0.0.1');
      const answer = new Promise<number | null>((resolve) => {
        let text = '';
        socket.on('data', (bytes) => {
          text += bytes.toString('latin1');
          const [, status] = /^HTTP\/1\.1 (\d{3}) /.exec(text) ?? [];
          if (status) resolve(Number(status));
        });
        socket.on('error', () => resolve(null));
        socket.on('close', () => resolve(null));
      });
      for (const part of parts) socket.write(part);
      return { socket, answer };
    },
    statementCount: (key) => statementCounts.get(key) ?? 0,
    hold(key, words) {
      const held = { key, words, waiting: [] as (() => void)[] };
      slow = held;
      return {
        held: () => held.waiting.length,
        release() {
          slow = null;
          for (const go of held.waiting.splice(0)) go();
        },
      };
    },
    async close() {
      server.closeAllConnections();
      server.close();
      await database.drop();
    },
  };
}
