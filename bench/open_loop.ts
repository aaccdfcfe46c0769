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

/** The number of the next task. No two runs share one, so that a task left over from an earlier run counts for none. */
let next = 1;

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
  const due = new Map<number, number>();
  const latencies: number[] = [];
  const all = Promise.withResolvers<void>();
  all.promise.catch(() => {});
  const { send, stop } = await run({
    started(n) {
      const at = due.get(n);
      if (at === undefined) return;
      due.delete(n);
      if (latencies.push(performance.now() - at) === count) all.resolve();
    },
  });
  try {
    const begun = performance.now() + 1000;
    const sent: Promise<unknown>[] = [];
    for (let i = 0; i < count; i++) {
      const n = next++;
      const at = begun + (i * 1000) / rate;
      due.set(n, at);
      const left = at - performance.now();
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
    return inTime ? latencies : null;
  } finally {
    await stop();
  }
}
