import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { WebSocketServer } from 'ws';
import { type SqlRequest, type SqlResponse, sqlOverHttp } from './sql_over_http.ts';
import { tunnel } from './tunnel.ts';

export type Address = { host: string; port: number };

export type NeonProxy = {
  /** http://127.0.0.1:… */
  origin: string;
  /** The requests over HTTP, with the status and the size of their answers. */
  requests: (SqlRequest & { status: number; answered: number })[];
  /** The statements that came over WebSockets. */
  statements: string[];
  /** The number of open WebSockets. */
  open(): number;
  stop(): Promise<void>;
};

export function addressOf(url: string): Address {
  const { hostname, port } = new URL(url);
  return { host: hostname, port: Number(port) };
}

/**
 * A stand-in for Neon's proxy. POST /sql runs one statement in a new session at `direct`. A WebSocket at /v2 leads to a
 * session at `pooled`. Users and passwords are those of PostgreSQL.
 */
export async function startNeonProxy(direct: Address, pooled: Address): Promise<NeonProxy> {
  const requests: NeonProxy['requests'] = [];
  const statements: string[] = [];
  const server = createServer(async (request, response) => {
    let sqlRequest: SqlRequest = { text: '', bytes: 0 };
    let answer: SqlResponse = { status: 400, body: '"query is not supported"' };
    if (request.method === 'POST' && request.url === '/sql') {
      answer = await sqlOverHttp(request, direct, (what) => {
        sqlRequest = what;
      });
      requests.push({
        ...sqlRequest,
        status: answer.status,
        answered: Buffer.byteLength(answer.body),
      });
    }
    response.writeHead(answer.status, { 'content-type': 'application/json' }).end(answer.body);
  });
  // Node's default of 5 s could close a connection at the moment in which a slow test uses it again.
  server.keepAliveTimeout = 120_000;
  const sockets = new WebSocketServer({ server, path: '/v2' });
  sockets.on('connection', (socket) => tunnel(socket, pooled, (text) => statements.push(text)));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    statements,
    open: () => sockets.clients.size,
    async stop() {
      for (const socket of sockets.clients) socket.terminate();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
