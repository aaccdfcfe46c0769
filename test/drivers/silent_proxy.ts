import { type AddressInfo, createServer, type Socket } from 'node:net';

export type SilentProxy = {
  port: number;
  /** Connections that are open. */
  open(): number;
  close(): Promise<void>;
};

/** Takes every connection and all that comes over it; to the n-th piece it says `answers[n]`, and after those no more. */
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

/** Of PostgreSQL: that whoever asks is let in, and may ask. */
export const acceptLogin = Buffer.from('R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I', 'latin1');

/** Of PostgreSQL: the head of a row, and none of it. */
export const sendHalfRow = Buffer.from('D\0\0\0\xff\0\x01', 'latin1');

/** Of Neon over HTTPS: the head of an answer, and half of it. */
export const sendHalfResponse =
  'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n{"rows":';
