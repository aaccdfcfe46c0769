import type { Call } from './call.ts';
import { queryString } from './route.ts';
import type {
  Completed,
  Extended,
  Failed,
  Failure,
  LeasedTasks,
  NewStep,
  Outcome,
  Progress,
  ProgressOf,
  Released,
  Result,
  SavedStep,
  StepOutcome,
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
  /** Saves steps of tasks of the lease. The run of a step that waits, or is to be tried again, ends. */
  saveSteps(lease: string, steps: NewStep[]): Promise<StepOutcome[]>;
  /** The saved steps of a task of the lease. */
  steps(lease: string, id: string): Promise<SavedStep[]>;
  /** The URL of a new link: a POST to it signals the event, without a key and once. */
  eventUrl(event: string, valid_seconds?: number): Promise<string>;
};

/** The URL of a link by its token; `url` is the address of the HTTP API. */
export const linkUrl = (url: string, token: string) =>
  `${url.replace(/\/+$/, '')}/v1/events/${token}`;

export function httpLeases(call: Call, url: string): Leases {
  const post = <T>(lease: string, verb: string, body: object, signal?: AbortSignal) =>
    call<T>('POST', `/v1/leases/${encodeURIComponent(lease)}/${verb}`, body, { signal });
  return {
    complete: (lease, results) => post(lease, 'complete', results ? { results } : {}),
    fail: (lease, failures = {}) =>
      post(lease, 'fail', Array.isArray(failures) ? { failures } : failures),
    release: (lease, ids) => post(lease, 'release', ids ? { ids } : {}),
    extend: (lease, lease_seconds, progress, signal) =>
      post(lease, 'extend', { lease_seconds, progress }, signal),
    saveSteps: async (lease, steps) =>
      (await post<{ steps: StepOutcome[] }>(lease, 'steps', { steps })).steps,
    async steps(lease, id) {
      const path = `/v1/leases/${encodeURIComponent(lease)}/steps${queryString({ id })}`;
      return (await call<{ steps: SavedStep[] }>('GET', path)).steps;
    },
    async eventUrl(event, valid_seconds) {
      const body = { event, valid_seconds };
      return linkUrl(url, (await call<{ token: string }>('POST', '/v1/event-links', body)).token);
    },
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
