import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** What is done to answers on their way, or to new connections (refuse). */
export const harms = ['drop', 'cut', 'delay', 'refuse'] as const;
export type Harm = (typeof harms)[number];

/** A way by TCP between two parts, of which so many answers or connections can be harmed. */
export type Way = {
  port: number;
  /** Where new connections go from now on. */
  aim(port: number): void;
  harm(kind: Harm, times: number, milliseconds?: number): void;
  /** No more harm, and every connection is ended. */
  mend(): void;
  close(): void;
};

export async function openWay(to: number, harmed: (kind: Harm) => void): Promise<Way> {
  let target = to;
  const left = { drop: 0, cut: 0, delay: 0, refuse: 0 };
  let delay = 0;
  const open = new Set<Socket>();

  /** Whether one is to be harmed like that now. */
  function take(kind: Harm): boolean {
    if (left[kind] === 0) return false;
    left[kind]--;
    harmed(kind);
    return true;
  }

  const server = createServer((client) => {
    if (take('refuse')) return client.resetAndDestroy();
    const there = connect(target, '127.0.0.1');
    for (const [one, other] of [
      [client, there],
      [there, client],
    ] as const) {
      open.add(one);
      one.on('error', () => other.destroy());
      one.on('close', () => {
        open.delete(one);
        other.destroy();
      });
    }
    // Only the first bytes after a request are its answer: by then it has been done.
    let asked = false;
    client.on('data', (bytes) => {
      asked = true;
      there.write(bytes);
    });
    there.on('data', (bytes) => {
      const first = asked;
      asked = false;
      if (first && take('drop')) return client.resetAndDestroy();
      if (first && take('cut')) {
        client.write(bytes.subarray(0, bytes.length >> 1), () => client.resetAndDestroy());
        return there.destroy();
      }
      if (first && take('delay')) {
        there.pause();
        setTimeout(() => {
          client.write(bytes);
          there.resume();
        }, delay);
        return;
      }
      client.write(bytes);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const way: Way = {
    port: (server.address() as AddressInfo).port,
    aim(port) {
      target = port;
    },
    harm(kind, times, milliseconds = 0) {
      left[kind] += times;
      delay = milliseconds;
    },
    mend() {
      for (const kind of harms) left[kind] = 0;
      for (const socket of open) socket.destroy();
    },
    close() {
      way.mend();
      server.close();
    },
  };
  return way;
}
