import type pg from 'pg';
import { Failure } from '../failure.ts';
import { ask } from './ask.ts';
import { type Claims, httpClaims, type Post, sqlClaims } from './claims.ts';

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

/** What complete() takes of a task, each as JSON text. */
export type Given = {
  result?: string | undefined;
  stage?: string | undefined;
  spawn?: string | undefined;
};

/** What a worker does. Without ids it is all of a lease; a Failure when the lease is over. */
export type Leases = Claims & {
  complete(lease: string, ids: string[], given?: Given): Promise<Completed>;
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

function results(ids: string[], given: Given = {}): string | null {
  if (ids.length === 0) return null;
  const said = Object.entries(given).filter(([, json]) => json !== undefined);
  const fields = said.map(([name, json]) => `,"${name}":${json}`).join('');
  return `[${ids.map((id) => `{"id":"${id}"${fields}}`)}]`;
}

/** Null when nothing is said. */
const progressOf = (ids: string[], said: Progress): string | null =>
  said.progress === undefined && said.note === undefined ? null : JSON.stringify(each(ids, said));

export function httpLeases(post: Post): Leases {
  const at = (lease: string, verb: string) => `POST /v1/leases/${lease}/${verb}`;
  return {
    ...httpClaims(post),
    complete(lease, ids, given) {
      const all = results(ids, given);
      return post(at(lease, 'complete'), all === null ? '{}' : `{"results":${all}}`);
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
    ...sqlClaims(client),
    complete: (lease, ids, given) =>
      one(
        `select completed, refused::text[] as refused
         from tock.complete(p_lease => $1, p_results => $2)`,
        [lease, results(ids, given)],
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
