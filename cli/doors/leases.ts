import { randomUUID } from 'node:crypto';
import type pg from 'pg';
import { exactly } from '../exact.ts';
import { Failure } from '../failure.ts';
import { ask } from './ask.ts';

export type Claiming = {
  worker?: string | undefined;
  limit?: number | undefined;
  lease_seconds?: number | undefined;
  request_id?: string | undefined;
};

export type Claimed = {
  lease: string | null;
  leased_until: string | null;
  tasks: { id: string; payload: unknown; [column: string]: unknown }[];
  state: string;
  retry_after_seconds: number;
};

export type Completed = { completed: number; refused: string[] };
export type Failed = { failed: number; dead: number; refused: string[] };
export type Released = { released: number; refused: string[] };
export type Extended = {
  leased_until: string;
  runs: number;
  /** Ids of tasks that somebody wants cancelled. */
  cancel: string[];
  refused: string[];
};

export type Outcome = {
  error?: unknown;
  retry_in_seconds?: number | undefined;
  fatal?: boolean | undefined;
};
export type Progress = { progress?: number | undefined; note?: string | undefined };

/** What a worker does. Without ids it is all of a lease; a Failure when the lease is over. */
export type Leases = {
  /** At once, or when there is something, up to so many seconds later. */
  claim(queue: string, wish: Claiming, waitSeconds: number): Promise<Claimed>;
  /** The result as JSON text. */
  complete(lease: string, ids: string[], result?: string): Promise<Completed>;
  fail(lease: string, ids: string[], outcome: Outcome): Promise<Failed>;
  release(lease: string, ids: string[]): Promise<Released>;
  extend(
    lease: string,
    ids: string[],
    seconds: number | undefined,
    said: Progress,
  ): Promise<Extended>;
};

/** One for all, or one for each id. */
function each<T extends object>(ids: string[], said: T): T | ({ id: string } & T)[] {
  return ids.length === 0 ? said : ids.map((id) => ({ id, ...said }));
}

const results = (ids: string[], result: string | undefined): string | null =>
  ids.length === 0 ? null : `[${ids.map((id) => `{"id":"${id}","result":${result ?? 'null'}}`)}]`;

/** Null when nothing is said. */
const progressOf = (ids: string[], said: Progress): string | null =>
  said.progress === undefined && said.note === undefined ? null : JSON.stringify(each(ids, said));

export function httpLeases(
  post: (route: string, body: string, parse?: Parse) => Promise<never>,
): Leases {
  const at = (lease: string, verb: string) => `POST /v1/leases/${lease}/${verb}`;
  return {
    async claim(queue, wish, waitSeconds) {
      const route = `POST /v1/queues/${encodeURIComponent(queue)}/claim`;
      // The call is repeated when it isn't answered.
      const { request_id = randomUUID() } = wish;
      const end = Date.now() + waitSeconds * 1000;
      for (;;) {
        // A call waits up to 30 seconds.
        const wait_seconds = Math.min(30, Math.max(0, Math.ceil((end - Date.now()) / 1000)));
        const body = JSON.stringify({ ...wish, request_id, wait_seconds });
        const claimed: Claimed = await post(route, body, exactly);
        if (claimed.lease || Date.now() >= end) return claimed;
      }
    },
    complete(lease, ids, result) {
      const given = results(ids, result);
      return post(at(lease, 'complete'), given === null ? '{}' : `{"results":${given}}`);
    },
    fail(lease, ids, outcome) {
      const failures = each(ids, outcome);
      const body = Array.isArray(failures) ? { failures } : failures;
      return post(at(lease, 'fail'), JSON.stringify(body));
    },
    release: (lease, ids) =>
      post(at(lease, 'release'), JSON.stringify(ids.length === 0 ? {} : { ids })),
    extend(lease, ids, lease_seconds, said) {
      const seconds = JSON.stringify({ lease_seconds }).slice(1, -1);
      const progress = progressOf(ids, said);
      const fields = [seconds, progress && `"progress":${progress}`].filter(Boolean);
      return post(at(lease, 'extend'), `{${fields}}`);
    },
  };
}

export type Parse = (json: string) => unknown;

const claimed = `with claimed as materialized (
    select * from tock.claim(p_queue => $1, p_worker => $2, p_limit => $3, p_lease_seconds => $4, p_request_id => $5,
      p_alone => true)
  ), answer as materialized (
    select min(c.lease::text) as lease, min(c.leased_until) as leased_until,
      coalesce(json_agg(json_build_object('id', c.id::text, 'run_id', c.run_id::text, 'attempt', c.attempt,
        'max_attempts', c.max_attempts, 'priority', c.priority, 'tenant', c.tenant, 'created_at', c.created_at,
        'payload', c.payload)), '[]')::text as tasks
    from claimed c
  )
  select a.lease, to_json(a.leased_until) as leased_until, a.tasks, tock.claim_answer() as state,
    case when a.lease is null then tock.retry_after_seconds($1) else 0 end as retry_after_seconds
  from answer a`;

export function sqlLeases(client: pg.Client): Leases {
  const one = async <T extends object>(sql: string, values: unknown[]): Promise<T> => {
    const [row] = await ask<T>(client, sql, values);
    if (row) return row;
    throw new Failure(
      'This lease is no longer yours: it is unknown, has ended or was given to another.',
      'Drop the work and claim again; what was not completed is done by somebody else.',
    );
  };
  return {
    async claim(queue, { worker, limit = 1, lease_seconds, request_id }, waitSeconds) {
      const start = Date.now();
      for (;;) {
        const values = [queue, worker, limit, lease_seconds, request_id];
        const row = await one<Omit<Claimed, 'tasks'> & { tasks: string }>(claimed, values);
        const waited = Date.now() - start;
        const left = waitSeconds * 1000 - waited;
        if (row.lease || left <= 0)
          return { ...row, tasks: exactly(row.tasks) as Claimed['tasks'] };
        const pause = row.state === 'passing' ? 0 : Math.max(20, Math.min(1000, waited / 10));
        await new Promise((wake) => setTimeout(wake, Math.min(left, pause)));
      }
    },
    complete: (lease, ids, result) =>
      one(
        `select completed, refused::text[] as refused
         from tock.complete(p_lease => $1, p_results => $2)`,
        [lease, results(ids, result)],
      ),
    fail: (lease, ids, outcome) =>
      one(
        `select failed, dead, refused::text[] as refused
         from tock.fail(p_lease => $1, p_failures => $2)`,
        [lease, JSON.stringify(each(ids, outcome))],
      ),
    release: (lease, ids) =>
      one(
        `select released, refused::text[] as refused
         from tock.release(p_lease => $1, p_ids => $2)`,
        [lease, ids.length === 0 ? null : ids],
      ),
    extend: (lease, ids, seconds, said) =>
      one(
        `select to_json(leased_until) as leased_until, runs, coalesce(cancel, '{}')::text[] as cancel,
           refused::text[] as refused
         from tock.extend(p_lease => $1, p_seconds => $2, p_progress => $3)`,
        [lease, seconds, progressOf(ids, said)],
      ),
  };
}
