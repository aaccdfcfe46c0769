import type { AddressInfo } from 'node:net';
import { connect, createServer } from 'node:net';

/**
 * Listeners of a proxy. `sending` may stop a message. `answering` and `answered` are called before and after the first
 * bytes that follow a message are passed on.
 */
export type Hears = {
  connected?(): unknown;
  sending?(text: string): boolean | undefined;
  sent?(text: string, connection: number): unknown;
  answering?(text: string): unknown;
  answered?(text: string): unknown;
};

export type TappedProxy = { url: string; hears: Hears; close(): void };

/** Starts a proxy to a database that reports the statements that pass through it. */
export async function startTappedProxy(to: string): Promise<TappedProxy> {
  const { hostname, port } = new URL(to);
  const made: TappedProxy = { url: '', hears: {}, close: () => server.close() };
  let count = 0;
  const server = createServer((client) => {
    const connection = ++count;
    made.hears.connected?.();
    const database = connect(Number(port), hostname);
    let firstLine: string | null = null;
    client.on('data', (bytes) => {
      const text = bytes.toString('latin1');
      if (made.hears.sending?.(text) === false) return;
      firstLine = text;
      database.write(bytes, () => made.hears.sent?.(text, connection));
    });
    database.on('data', (bytes) => {
      if (firstLine !== null) made.hears.answering?.(firstLine);
      client.write(bytes);
      if (firstLine !== null) made.hears.answered?.(firstLine);
      firstLine = null;
    });
    for (const [socket, other] of [
      [client, database],
      [database, client],
    ] as const) {
      socket.on('error', () => other.destroy());
      socket.on('close', () => other.destroy());
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const own = { hostname: '127.0.0.1', port: String((server.address() as AddressInfo).port) };
  made.url = Object.assign(new URL(to), own).href;
  return made;
}
