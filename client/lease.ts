import type { Call } from './call.ts';
import type {
  Completed,
  Extended,
  Failed,
  Failure,
  LeasedTasks,
  Outcome,
  Progress,
  ProgressOf,
  Released,
  Result,
} from './types.ts';

/** What a worker does with a lease, by its token. Each throws LeaseLost when the lease is over. */
export type Leases = {
  /** All that are left, or those in results. */
  complete(lease: string, results?: Result[]): Promise<Completed>;
  /** Those in a list, or one outcome for all that are left. */
  fail(lease: string, failures?: Failure[] | Outcome): Promise<Failed>;
  /** Gives back all that are left, or those named; it counts as no attempt. */
  release(lease: string, ids?: string[]): Promise<Released>;
  /** Moves the lease's end to so long from now, and names the tasks that somebody wants cancelled; aborted, it isn't tried again. */
  extend(
    lease: string,
    lease_seconds?: number,
    progress?: Progress | ProgressOf[],
    signal?: AbortSignal,
  ): Promise<Extended>;
};

export function httpLeases(call: Call): Leases {
  const at = <T>(lease: string, verb: string, body: object, signal?: AbortSignal) =>
    call<T>('POST', `/v1/leases/${encodeURIComponent(lease)}/${verb}`, body, { signal });
  return {
    complete: (lease, results) => at(lease, 'complete', results ? { results } : {}),
    fail: (lease, failures = {}) =>
      at(lease, 'fail', Array.isArray(failures) ? { failures } : failures),
    release: (lease, ids) => at(lease, 'release', ids ? { ids } : {}),
    extend: (lease, lease_seconds, progress, signal) =>
      at(lease, 'extend', { lease_seconds, progress }, signal),
  };
}

/** Tasks that were claimed together, and what to do with them. */
export type Lease<P = unknown> = LeasedTasks<P> & {
  complete(results?: Result[]): Promise<Completed>;
  fail(failures?: Failure[] | Outcome): Promise<Failed>;
  release(ids?: string[]): Promise<Released>;
  extend(lease_seconds?: number, progress?: Progress | ProgressOf[]): Promise<Extended>;
};

export function leaseOf<P>(verbs: Leases, leased: LeasedTasks<P>): Lease<P> {
  const { lease } = leased;
  return {
    ...leased,
    complete: (results) => verbs.complete(lease, results),
    fail: (failures) => verbs.fail(lease, failures),
    release: (ids) => verbs.release(lease, ids),
    extend: (lease_seconds, progress) => verbs.extend(lease, lease_seconds, progress),
  };
}
