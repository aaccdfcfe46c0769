import { connect, createServer, type Server, type Socket } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { corkSocket } from '../../functions/database/cork_socket.ts';
import { bundle } from '../../scripts/bundle.ts';
import { type Served, serveBundle } from '../worker/workerd.ts';
import { made, useDriverDatabase } from './drivers.ts';
import { addressOf } from './neon_proxy.ts';

useDriverDatabase();
let served: Served;
let proxy: Server;
const sockets: Socket[] = [];
/** The bytes that came from the Worker, one entry for each write. */
const writes: Buffer[] = [];

beforeAll(async () => {
  const url = new URL(made.database.poolUrl ?? made.database.edgeUrl);
  const place = addressOf(url.href);
  proxy = createServer((socket) => {
    const server = connect(place);
    sockets.push(socket, server);
    for (const endpoint of [socket, server]) endpoint.setNoDelay(true).on('error', () => {});
    socket.on('data', (bytes) => {
      writes.push(bytes);
      server.write(bytes);
    });
    socket.on('close', () => server.end());
    server.pipe(socket);
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  url.port = String((proxy.address() as { port: number }).port);
  served = await serveBundle((await bundle()).code, { DATABASE_URL: url.href });
});

afterAll(async () => {
  await served?.stop();
  for (const socket of sockets) socket.destroy();
  proxy?.close();
});

/** The types of the protocol messages in the bytes. Fails if the last message is incomplete. */
function types(bytes: Buffer): string {
  let letters = '';
  for (let at = 0; at < bytes.length; at += 1 + bytes.readInt32BE(at + 1)) {
    letters += String.fromCharCode(bytes[at] ?? 0);
  }
  return letters;
}

function post(path: string, body: object = {}): Promise<Response> {
  const headers = { authorization: `Bearer ${made.key}`, 'content-type': 'application/json' };
  return fetch(`${served.url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
}

test('in workerd the messages of a statement are one write', async () => {
  for (let call = 0; call < 10; call++) {
    writes.length = 0;
    expect((await post('/v1/queues/corked/claim')).status).toBe(200);
    // The five messages of a statement are Parse, Bind, Describe, Execute and Sync.
    const statement = writes.filter((bytes) => bytes.includes('tock.http_claim('));
    expect(statement.map(types)).toEqual(['PBDES']);
    expect(writes.filter((bytes) => /^[BDES]/.test(bytes.toString('latin1')))).toEqual([]);
  }
});

test('in workerd a large statement arrives complete', async () => {
  const payload = 'x'.repeat(200_000);
  const enqueued = await post('/v1/queues/large/tasks', { tasks: Array(20).fill({ payload }) });
  expect(enqueued.status).toBe(201);
  const claimed = await post('/v1/queues/large/claim', { limit: 20 });
  const { tasks } = (await claimed.json()) as { tasks: { payload: string }[] };
  expect(tasks.map((task) => task.payload)).toEqual(Array(20).fill(payload));
});

/** A client whose stream records its writes. */
function client(stream: object) {
  const written: string[] = [];
  const write = (bytes: Uint8Array) => written.push(String(bytes)) > 0;
  return { written, client: { connection: { stream: { write, ...stream } } } };
}

test('data written while the stream is corked becomes one write, in order', () => {
  const fake = client({});
  const { stream } = corkSocket(fake.client).connection as unknown as {
    stream: { write(bytes: Buffer): boolean; cork(): void; uncork(): void };
  };
  stream.write(Buffer.from('before'));
  stream.cork();
  expect(stream.write(Buffer.from('a'))).toBe(true);
  stream.write(Buffer.from('b'));
  expect(fake.written).toEqual(['before']);
  stream.uncork();
  stream.write(Buffer.from('after'));
  stream.cork();
  stream.write(Buffer.from('c'));
  stream.uncork();
  expect(fake.written).toEqual(['before', 'ab', 'after', 'c']);
});

test('a stream with its own cork() is not changed', () => {
  const cork = () => {};
  const fake = client({ cork });
  const { write } = fake.client.connection.stream;
  expect(corkSocket(fake.client).connection.stream).toMatchObject({ cork, write });
});
