import { type AddressInfo, createServer, type Socket } from 'node:net';

export type SilentProxy = {
  port: number;
  /** The number of open connections. */
  open(): number;
  close(): Promise<void>;
};

/** Accepts connections and reads all data. It answers the n-th piece with `answers[n]`; after the last it is silent. */
export async function startSilentProxy(...answers: (string | Buffer)[]): Promise<SilentProxy> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    const rest = [...answers];
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => sockets.delete(socket));
    socket.on('data', () => {
      const answer = rest.shift();
      if (answer !== undefined) socket.write(answer);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    open: () => sockets.size,
    close() {
      for (const socket of sockets) socket.destroy();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

/** PostgreSQL's messages that a login succeeded and that the session is ready. */
export const acceptLogin = Buffer.from('R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I', 'latin1');

/** The head of PostgreSQL's message for a row, without its content. */
export const sendHalfRow = Buffer.from('D\0\0\0\xff\0\x01', 'latin1');

/** The head of an answer of Neon over HTTPS, with a part of the body. */
export const sendHalfResponse =
  'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n{"rows":';
