import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** A server on this machine that handlers call when they start; `heard` gets the path and the body. */
export async function listener(heard: (path: string, body: string) => void) {
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8');
    request.on('data', (part) => {
      body += part;
    });
    request.on('end', () => {
      heard(request.url ?? '', body);
      response.end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, close: () => server.close() };
}

export type Arrivals = {
  /** Notes that task n has started. */
  started(n: number): void;
};

/**
 * Sends tasks at a rate, whether the earlier ones have started or not. Returns the milliseconds from the moment at which
 * each was due to be sent until it started, so that a system that falls behind is not asked less. Null if tasks had not
 * started ten seconds after the last was sent.
 */
export async function openLoop(
  rate: number,
  seconds: number,
  run: (
    arrivals: Arrivals,
  ) => Promise<{ send(n: number): Promise<unknown>; stop(): Promise<void> }>,
): Promise<number[] | null> {
  const count = Math.max(20, Math.round(rate * seconds));
  const due: number[] = [];
  const latencies = new Map<number, number>();
  const all = Promise.withResolvers<void>();
  const { send, stop } = await run({
    started(n) {
      const at = due[n];
      if (at === undefined || latencies.has(n)) return;
      latencies.set(n, performance.now() - at);
      if (latencies.size === count) all.resolve();
    },
  });
  try {
    const begun = performance.now() + 1000;
    const sent: Promise<unknown>[] = [];
    for (let n = 0; n < count; n++) {
      due[n] = begun + (n * 1000) / rate;
      const left = (due[n] as number) - performance.now();
      if (left > 1) await pause(left);
      const answer = send(n);
      answer.catch(all.reject);
      sent.push(answer);
    }
    const inTime = await Promise.race([
      all.promise.then(() => true),
      pause(10_000).then(() => false),
    ]);
    await Promise.all(sent);
    return inTime ? [...latencies.values()] : null;
  } finally {
    await stop();
  }
}
