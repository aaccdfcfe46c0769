import { connect } from '../../functions/database/connect.ts';
import type { Bindings } from '../../functions/env.ts';
import { createApp } from '../../functions/http/app.ts';
import { type Run, rows, value } from '../sql/verbs.ts';
import { openClient } from './citus_cluster.ts';

export type Claimed = { lease: string; runs: Pick<Run, 'id' | 'attempt' | 'payload'>[] };

/** The calls over one connection. */
export type Session = {
  /** Enqueues a task whose payload is the request id, and returns its id. */
  enqueue(queue: string, requestId: string): Promise<string>;
  claim(queue: string): Promise<Claimed | null>;
  /** The number of runs that this call, or the same call before, has completed. */
  complete(lease: string): Promise<number>;
  close(): Promise<void>;
};

export type SqlSession = Session & {
  /** Inserts an order and enqueues a task for it in each queue, in one transaction. */
  order(name: string, queues: string[]): Promise<void>;
};

/** A way into the cluster. */
export type Entrance<S = Session> = {
  name: string;
  /** The servers without which it has no answer, beside the owner of the queue. */
  needs: number[];
  open(): Promise<S>;
};

/** A commit that failed, so that nobody knows whether it happened. */
export class UnknownCommit extends Error {}

export const LEASE_SECONDS = 10;
/** So many that consumers keep up with producers. */
export const LIMIT = 100;

/** Any server, or a pooler before it. */
export function bySql(name: string, url: string, needs: number[]): Entrance<SqlSession> {
  return {
    name,
    needs,
    async open() {
      const client = await openClient(url);
      async function enqueue(queue: string, payload: string, requestId: string | null) {
        const sql = 'select tock_nodes.enqueue($1, $2, $3)';
        const ids = await value<string[]>(client, sql, [
          queue,
          JSON.stringify([{ payload }]),
          requestId,
        ]);
        return ids[0] as string;
      }
      return {
        enqueue: (queue, requestId) => enqueue(queue, requestId, requestId),
        async order(name, queues) {
          await client.query('begin');
          await client.query('insert into public.orders values ($1)', [name]);
          for (const queue of queues) await enqueue(queue, name, null);
          await client.query('commit').catch((error) => {
            throw Object.assign(new UnknownCommit(error.message), { code: error.code });
          });
        },
        async claim(queue) {
          const sql = 'select * from tock_nodes.claim($1, p_limit => $2, p_lease_seconds => $3)';
          const runs = await rows<Run>(client, sql, [queue, LIMIT, LEASE_SECONDS]);
          return runs[0] ? { lease: runs[0].lease, runs } : null;
        },
        async complete(lease) {
          const sql = 'select completed from tock_nodes.complete($1)';
          return (await value<number | undefined>(client, sql, [lease])) ?? 0;
        },
        close: () => client.end().catch(() => {}),
      };
    },
  };
}

/** The Worker, with TOCK_NODES in its bindings. Each request opens connections of its own. */
export function byWorker(name: string, key: string, bindings: Bindings, needs: number[]): Entrance {
  const app = createApp(connect);
  async function post(path: string, body: object) {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const init = { method: 'POST', headers, body: JSON.stringify(body) };
    const response = await app.request(`/v1/${path}`, init, bindings);
    const text = await response.text();
    if (response.ok) return JSON.parse(text);
    // A lease that has ended.
    if (response.status === 409) return { completed: 0 };
    throw Object.assign(new Error(JSON.parse(text).detail), { code: `${response.status}` });
  }
  const session: Session = {
    async enqueue(queue, requestId) {
      const body = { tasks: [{ payload: requestId }], request_id: requestId };
      return (await post(`queues/${queue}/tasks`, body)).ids[0];
    },
    async claim(queue) {
      const body = { limit: LIMIT, lease_seconds: LEASE_SECONDS };
      const { lease, tasks } = await post(`queues/${queue}/claim`, body);
      return lease ? { lease, runs: tasks } : null;
    },
    complete: async (lease) => (await post(`leases/${lease}/complete`, {})).completed,
    close: async () => {},
  };
  return { name, needs, open: async () => session };
}
