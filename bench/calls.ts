import { Agent, request } from 'node:http';
import type { Served } from './serve_worker.ts';

/** One request over a kept connection; returns the answer's text. Throws unless the status is 200 or 201. */
export type Call = (method: 'GET' | 'POST' | 'PUT', path: string, body?: string) => Promise<string>;

export type Connection = { call: Call; close(): void };

export function connection({ url, key }: Pick<Served, 'url' | 'key'>): Connection {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const { hostname, port } = new URL(url);
  const call: Call = (method, path, body) =>
    new Promise((resolve, reject) => {
      const headers = {
        authorization: `Bearer ${key}`,
        ...(body && {
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(body),
        }),
      };
      const sent = request({ agent, hostname, port, method, path, headers }, (answer) => {
        let text = '';
        answer.setEncoding('utf8');
        answer.on('data', (part) => {
          text += part;
        });
        answer.on('error', reject);
        answer.on('end', () => {
          if (answer.statusCode === 200 || answer.statusCode === 201) resolve(text);
          else reject(new Error(`${method} ${path}: ${answer.statusCode} ${text}`));
        });
      });
      sent.on('error', reject);
      sent.end(body);
    });
  return { call, close: () => agent.destroy() };
}

/** The work that a connection repeats. Returns the number of requests. */
export type Step = (call: Call) => Promise<number>;

/** Requests per second over all connections, each with one request at a time. */
export async function rate(all: Connection[], step: Step, seconds: number): Promise<number> {
  const started = performance.now();
  const deadline = started + seconds * 1000;
  const runConnection = async ({ call }: Connection) => {
    let count = 0;
    while (performance.now() < deadline) count += await step(call);
    return count;
  };
  // Waits for all requests, because none may continue into the next window.
  const outcomes = await Promise.allSettled(all.map(runConnection));
  const elapsed = (performance.now() - started) / 1000;
  let count = 0;
  for (const outcome of outcomes) {
    if (outcome.status === 'rejected') throw outcome.reason;
    count += outcome.value;
  }
  return count / elapsed;
}

/**
 * Claims up to `limit` tasks and completes them. Returns their number. Calls `onClaimed` when the claim is answered.
 */
export async function cycle(
  call: Call,
  queue: string,
  limit: number,
  wait = 0,
  onClaimed?: () => void,
): Promise<{ tasks: number; requests: number; state: string }> {
  const claimBody = JSON.stringify({ limit, wait_seconds: wait });
  const answer = await call('POST', `/v1/queues/${queue}/claim`, claimBody);
  onClaimed?.();
  const { lease, tasks, state } = JSON.parse(answer);
  if (tasks.length === 0) return { tasks: 0, requests: 1, state };
  await call('POST', `/v1/leases/${lease}/complete`, '{}');
  return { tasks: tasks.length, requests: 2, state };
}

/** A worker that goes from claim to claim: each request ends the lease before it and claims up to
 * `limit` tasks. Only requests that got tasks count. */
export function nexts(queue: string, limit: number) {
  let ends: { lease: string }[] = [];
  return async (call: Call): Promise<{ tasks: number; requests: number; state: string }> => {
    const body = JSON.stringify({ limit, ...(ends.length > 0 && { ends }) });
    const { lease, tasks, state } = JSON.parse(
      await call('POST', `/v1/queues/${queue}/claim`, body),
    );
    ends = lease ? [{ lease }] : [];
    return { tasks: tasks.length, requests: Math.min(1, tasks.length), state };
  };
}
