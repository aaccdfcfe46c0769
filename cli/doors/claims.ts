import { randomUUID } from 'node:crypto';
import type pg from 'pg';
import { parseLossless } from '../../client/lossless_json.ts';
import { claimedAny, claimedOne, claimedOwn } from '../../client/sql/statements.ts';
import { ask } from './ask.ts';

export type Parse = (json: string) => unknown;
export type Post = (route: string, body: string, parse?: Parse) => Promise<never>;

export type Claiming = {
  worker?: string | undefined;
  limit?: number | undefined;
  lease_seconds?: number | undefined;
  request_id?: string | undefined;
};

export type Claimable = { id: string; payload: unknown; [column: string]: unknown };
/** `state` is found when something was leased. */
type Said = { state: string; retry_after_seconds: number };
type Lease = { queue: string; lease: string; leased_until: string; tasks: Claimable[] };

export type Claimed = Said & {
  lease: string | null;
  leased_until: string | null;
  tasks: Claimable[];
};
export type ClaimedAny = { leases: Lease[] } & Said;

export type Claims = {
  /** One task for a worker: while its lease is open the same again, with a later end. */
  claimOwn(queue: string, worker: string, seconds: number | undefined): Promise<Claimed>;
  /** At once, or when there is something, up to so many seconds later. */
  claim(queue: string, wish: Claiming, waitSeconds: number): Promise<Claimed>;
  /** The same from several queues: in this order, or with weights in one that is drawn by them. */
  claimAny(
    queues: string[],
    weights: number[] | undefined,
    wish: Claiming,
    waitSeconds: number,
  ): Promise<ClaimedAny>;
};

export function httpClaims(post: Post): Claims {
  const claim = async <T extends Said>(
    route: string,
    wish: Claiming & { queues?: unknown[] },
    waitSeconds: number,
  ): Promise<T> => {
    // The call is repeated when it isn't answered.
    const { request_id = randomUUID() } = wish;
    const end = Date.now() + waitSeconds * 1000;
    for (;;) {
      // A call waits up to 30 seconds.
      const wait_seconds = Math.min(30, Math.max(0, Math.ceil((end - Date.now()) / 1000)));
      const body = JSON.stringify({ ...wish, request_id, wait_seconds });
      const claimed: T = await post(route, body, parseLossless);
      if (claimed.state === 'found' || Date.now() >= end) return claimed;
    }
  };
  return {
    claimOwn: (queue, worker, lease_seconds) =>
      post(
        `POST /v1/queues/${encodeURIComponent(queue)}/claim-own`,
        JSON.stringify({ worker, lease_seconds }),
        parseLossless,
      ),
    claim: (queue, wish, waitSeconds) =>
      claim(`POST /v1/queues/${encodeURIComponent(queue)}/claim`, wish, waitSeconds),
    claimAny(names, weights, wish, waitSeconds) {
      const queues = weights ? names.map((queue, n) => ({ queue, weight: weights[n] })) : names;
      return claim('POST /v1/claim', { ...wish, queues }, waitSeconds);
    },
  };
}

export function sqlClaims(client: pg.Client): Claims {
  const claim = async (sql: string, values: unknown[], waitSeconds: number) => {
    const start = Date.now();
    for (;;) {
      const [row] = await ask<Said & { leases: string }>(client, sql, values);
      const { leases, ...said } = row as NonNullable<typeof row>;
      const waited = Date.now() - start;
      const left = waitSeconds * 1000 - waited;
      if (said.state === 'found' || left <= 0) {
        return { leases: parseLossless(leases) as Lease[], ...said };
      }
      const pause = said.state === 'passing' ? 0 : Math.max(20, Math.min(1000, waited / 10));
      await new Promise((wake) => setTimeout(wake, Math.min(left, pause)));
    }
  };
  const values = ({ worker, limit = 1, lease_seconds, request_id }: Claiming) => [
    worker,
    limit,
    lease_seconds,
    request_id,
  ];
  const one = async (sql: string, values: unknown[], waitSeconds: number): Promise<Claimed> => {
    const { leases, ...said } = await claim(sql, values, waitSeconds);
    const { lease = null, leased_until = null, tasks = [] } = leases[0] ?? {};
    return { lease, leased_until, tasks, ...said };
  };
  return {
    claimOwn: (queue, worker, seconds) => one(claimedOwn, [queue, worker, seconds], 0),
    claim: (queue, wish, waitSeconds) => one(claimedOne, [queue, ...values(wish)], waitSeconds),
    claimAny: (queues, weights, wish, waitSeconds) =>
      claim(claimedAny, [queues, ...values(wish), weights], waitSeconds),
  };
}
