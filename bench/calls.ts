import { Agent, request } from 'node:http';
import type { Served } from './served.ts';

/** One request over a connection that is kept; the answer's text. An error unless it is a 200 or 201. */
export type Call = (method: 'GET' | 'POST', path: string, body?: string) => Promise<string>;

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

/** What one connection does over and over; the number of requests that it was. */
export type Step = (call: Call) => Promise<number>;

/** Requests a second over all connections, each with one request under way at any time. */
export async function rate(all: Connection[], step: Step, seconds: number): Promise<number> {
  const started = performance.now();
  const until = started + seconds * 1000;
  const each = async ({ call }: Connection) => {
    let count = 0;
    while (performance.now() < until) count += await step(call);
    return count;
  };
  // none may be left at work in the next window
  const ended = await Promise.allSettled(all.map(each));
  const taken = (performance.now() - started) / 1000;
  let count = 0;
  for (const one of ended) {
    if (one.status === 'rejected') throw one.reason;
    count += one.value;
  }
  return count / taken;
}

/** Claims up to so many and completes them; how many there were. Tells when the claim was answered. */
export async function cycle(
  call: Call,
  queue: string,
  limit: number,
  wait = 0,
  onClaimed?: () => void,
): Promise<{ tasks: number; requests: number; state: string }> {
  const ask = JSON.stringify({ limit, wait_seconds: wait });
  const answer = await call('POST', `/v1/queues/${queue}/claim`, ask);
  onClaimed?.();
  const { lease, tasks, state } = JSON.parse(answer);
  if (tasks.length === 0) return { tasks: 0, requests: 1, state };
  await call('POST', `/v1/leases/${lease}/complete`, '{}');
  return { tasks: tasks.length, requests: 2, state };
}
