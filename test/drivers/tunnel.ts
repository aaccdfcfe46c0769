import type { Socket } from 'node:net';
import pg from 'pg';
import type { RawData, WebSocket } from 'ws';

type Place = { host: string; port: number };

/** A message of PostgreSQL's protocol: its type, its length and its content. */
function message(type: string, ...parts: (string | Buffer)[]): Buffer {
  const content = Buffer.concat(parts.map((part) => Buffer.from(part as string)));
  const head = Buffer.alloc(5);
  head.write(type);
  head.writeInt32BE(content.length + 4, 1);
  return Buffer.concat([head, content]);
}

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
}

/** Splits the bytes of a client into messages. The bytes may arrive in pieces of any size. */
function messages(each: (type: string, content: Buffer) => void) {
  let rest = Buffer.alloc(0);
  let started = false;
  return (bytes: Buffer) => {
    rest = Buffer.concat([rest, bytes]);
    while (true) {
      // The first message, which starts the session, has no type.
      const head = started ? 1 : 0;
      if (rest.length < head + 4) return;
      const length = head + rest.readInt32BE(head);
      if (rest.length < length) return;
      const type = started ? String.fromCharCode(rest[0] ?? 0) : '';
      const content = rest.subarray(head + 4, length);
      rest = rest.subarray(length);
      started = true;
      each(type, content);
    }
  };
}

function startup(content: Buffer): Record<string, string> {
  const words = content.subarray(4).toString().split('\0');
  const settings: Record<string, string> = {};
  for (let at = 0; words[at]; at += 2) settings[words[at] ?? ''] = words[at + 1] ?? '';
  return settings;
}

type Inside = { connection: { stream: Socket } };

/** The socket of a session that pg has opened. */
async function open(place: Place, user: string, database: string, password: string) {
  const client = new pg.Client({ ...place, user, database, password });
  client.on('error', () => {});
  await client.connect();
  const { stream } = (client as unknown as Inside).connection;
  stream.removeAllListeners('data');
  return stream;
}

/**
 * Asks for the password in clear text, as Neon's proxy does (the driver sends it before it is asked), and logs in with
 * it. Then it passes all bytes on in both directions, and calls `onQuery` with each statement.
 */
export function tunnel(socket: WebSocket, place: Place, onQuery: (text: string) => void): void {
  let settings: Record<string, string> = {};
  let server: Socket | undefined;
  let waiting: Buffer[] = [];
  const login = async (password: string) => {
    const { user = '', database = user } = settings;
    try {
      server = await open(place, user, database, password);
    } catch (error) {
      // Neon's proxy sends all its own errors with this code and no other fields.
      const { message: text } = error as Error;
      socket.send(message('E', `SERROR\0CXX000\0M${text}\0\0`));
      socket.close();
      return;
    }
    server.on('data', (bytes) => socket.send(bytes));
    server.on('close', () => socket.close());
    server.on('error', () => socket.close());
    if (socket.readyState !== socket.OPEN) server.destroy();
    else socket.send(Buffer.concat([message('R', int32(0)), message('Z', 'I')]));
    for (const bytes of waiting) server.write(bytes);
    waiting = [];
  };
  const follow = messages((type, content) => {
    if (type === '') {
      settings = startup(content);
      socket.send(message('R', int32(3)));
      return;
    }
    if (type === 'p') {
      void login(content.toString().slice(0, -1));
      return;
    }
    // A Parse message begins with the statement's name, which is empty here, so the text begins after one zero.
    if (type === 'P') onQuery(content.toString().split('\0')[1] ?? '');
    if (type === 'Q') onQuery(content.toString().slice(0, -1));
    const bytes = message(type, content);
    if (server) server.write(bytes);
    else waiting.push(bytes);
  });
  socket.on('message', (data: RawData) => follow(data as Buffer));
  socket.on('error', () => {});
  socket.on('close', () => server?.destroy());
}
