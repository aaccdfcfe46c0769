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

/** Operations on a lease, by its token. Each throws LeaseLost once the lease has ended. */
export type Leases = {
  /** Completes all remaining tasks, or those in results. */
  complete(lease: string, results?: Result[]): Promise<Completed>;
  /** Fails the tasks in a list, or all remaining tasks with one outcome. */
  fail(lease: string, failures?: Failure[] | Outcome): Promise<Failed>;
  /** Releases all remaining tasks, or those named. A release counts as no attempt. */
  release(lease: string, ids?: string[]): Promise<Released>;
  /**
   * Extends the lease to lease_seconds from now. Returns the tasks whose cancellation was requested. After `signal`
   * aborts, the call is not retried.
   */
  extend(
    lease: string,
    lease_seconds?: number,
    progress?: Progress | ProgressOf[],
    signal?: AbortSignal,
  ): Promise<Extended>;
};

export function httpLeases(call: Call): Leases {
  const post = <T>(lease: string, verb: string, body: object, signal?: AbortSignal) =>
    call<T>('POST', `/v1/leases/${encodeURIComponent(lease)}/${verb}`, body, { signal });
  return {
    complete: (lease, results) => post(lease, 'complete', results ? { results } : {}),
    fail: (lease, failures = {}) =>
      post(lease, 'fail', Array.isArray(failures) ? { failures } : failures),
    release: (lease, ids) => post(lease, 'release', ids ? { ids } : {}),
    extend: (lease, lease_seconds, progress, signal) =>
      post(lease, 'extend', { lease_seconds, progress }, signal),
  };
}

/** A leased batch of tasks with its operations. */
export type Lease<P = unknown> = LeasedTasks<P> & {
  complete(results?: Result[]): Promise<Completed>;
  fail(failures?: Failure[] | Outcome): Promise<Failed>;
  release(ids?: string[]): Promise<Released>;
  extend(lease_seconds?: number, progress?: Progress | ProgressOf[]): Promise<Extended>;
};

export function createLease<P>(verbs: Leases, leased: LeasedTasks<P>): Lease<P> {
  const { lease } = leased;
  return {
    ...leased,
    complete: (results) => verbs.complete(lease, results),
    fail: (failures) => verbs.fail(lease, failures),
    release: (ids) => verbs.release(lease, ids),
    extend: (lease_seconds, progress) => verbs.extend(lease, lease_seconds, progress),
  };
}
