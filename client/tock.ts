import { type Call, type CallOptions, caller } from './call.ts';
import { type Claims, httpClaims } from './claims.ts';
import { createLease, httpLeases, type Lease, type Leases } from './lease.ts';
import { httpPools, type Pools } from './pools.ts';
import { httpTasks, type Tasks } from './tasks.ts';
import type {
  AnyQueues,
  ClaimOptions,
  ClaimState,
  Ended,
  IdempotencyOptions,
  LeasedTasks,
  LeaseEnd,
  Name,
  NewTask,
  TaskOptions,
} from './types.ts';
import { type Handler, type Handlers, normalizeHandlers } from './worker/handlers.ts';
import { type WorkCounts, type WorkOptions, work } from './worker/work.ts';

export type Tock<Q = AnyQueues> = Tasks<Q> & {
  /** Returns the task's id, or with a unique_key the id of the task that holds the key. */
  enqueue<N extends Name<Q>>(
    queue: N,
    payload: Q[N],
    options?: TaskOptions & IdempotencyOptions,
  ): Promise<string>;
  /** Adds up to 10,000 tasks, all or none; returns their ids in order. */
  enqueueMany<N extends Name<Q>>(
    queue: N,
    tasks: NewTask<Q[N]>[],
    options?: IdempotencyOptions,
  ): Promise<string[]>;
  /** Returns null if no task is ready. With wait_seconds (up to 30) it waits for one. */
  claim<N extends Name<Q>>(queue: N, options?: ClaimOptions): Promise<Lease<Q[N]> | null>;
  /** Claims from several queues, in order or by weights; returns one lease for each queue with tasks. */
  /** Ends leases of earlier claims, then claims, in one transaction: one call for each task. */
  next<N extends Name<Q>>(
    queue: N,
    ends: LeaseEnd[],
    options?: ClaimOptions,
  ): Promise<{ ended: Ended[]; lease: Lease<Q[N]> | null }>;
  claimAny<N extends Name<Q>>(
    queues: (N | { queue: N; weight: number })[],
    options?: ClaimOptions,
  ): Promise<{ leases: Lease<Q[N]>[]; state: ClaimState; retry_after_seconds: number }>;
  /** Claims one task for a worker. While the worker's lease is open, it returns the same task and extends the lease. */
  claimForWorker<N extends Name<Q>>(
    queue: N,
    worker: string,
    lease_seconds?: number,
  ): Promise<Lease<Q[N]> | null>;
  /** Operations on a lease by its token. */
  leases: Leases;
  pools: Pools;
  /** Claims tasks, runs handlers and reports outcomes until it is stopped, or no task is left with `until: 'empty'`. */
  work<N extends Name<Q>>(
    queue: N,
    handler: Handler<Q[N]>,
    options?: WorkOptions,
  ): Promise<WorkCounts>;
  /** The same for several queues with a handler each, claimed in this order or by `weights`. */
  work(handlers: Handlers<Q>, options?: WorkOptions): Promise<WorkCounts>;
  /** Calls any route. A POST without a request id gets a generated one. */
  call: Call;
};

export type TockOptions = CallOptions & {
  /** The name of its workers and claims that give none. In Node, Bun and Deno: the host and the process id. */
  worker?: string | undefined;
};

function hasRequestId(body: object | string | undefined): boolean {
  try {
    const parsed = typeof body === 'string' ? JSON.parse(body) : body;
    return parsed?.request_id != null;
  } catch {
    // The server refuses the invalid JSON with a reason.
    return false;
  }
}

/** Adds a request id to a POST without one, because a retry could repeat its effect. */
function withRequestId(call: Call): Call {
  return (method, path, body, wait) => {
    if (method !== 'POST' || hasRequestId(body)) return call(method, path, body, wait);
    return call(method, path, body, { request_id: crypto.randomUUID(), ...wait });
  };
}

/** The server enqueues tasks without options faster if they come as payloads. */
const isPlain = (task: object) =>
  Object.entries(task).every(([key, value]) => key === 'payload' || value === undefined);

/** Creates work() on the claims and leases of one transport: HTTP or SQL. */
export function createWork<Q, C>(source: Claims & Leases, worker?: string) {
  type Context = C;
  return (
    firstLease: string | Handlers<Q, Context>,
    second?: Handler<never, Context> | WorkOptions,
    third?: WorkOptions,
  ): Promise<WorkCounts> => {
    const [handlers, options] = normalizeHandlers(firstLease as never, second as never, third);
    return work(source, handlers, { worker, ...options });
  };
}

/** A Tock client over HTTP. It needs fetch only: browsers, Node, Workers, Deno and Bun. */
export function createTock<Q = AnyQueues>({ worker, ...options }: TockOptions): Tock<Q> {
  const call = caller(options);
  const leases = httpLeases(call, options.url);
  const claims = httpClaims(call);
  // A repeat with the same request id must be the same call, also from another process.
  const named = (options: ClaimOptions = {}) =>
    options.request_id === undefined ? { worker, ...options } : options;
  const firstLease = (all: LeasedTasks[]) => (all[0] ? createLease(leases, all[0]) : null);
  const tasksPath = (queue: string) => `/v1/queues/${encodeURIComponent(queue)}/tasks`;
  const client: Tock = {
    ...httpTasks(call),
    async enqueue(queue, payload, { request_id = crypto.randomUUID(), ...options } = {}) {
      const body = { request_id, ...options, payload };
      const { ids } = await call<{ ids: [string] }>('POST', tasksPath(queue), body);
      return ids[0];
    },
    async enqueueMany(queue, tasks, { request_id = crypto.randomUUID() } = {}) {
      const body = tasks.every(isPlain)
        ? { request_id, payloads: tasks.map(({ payload }) => payload) }
        : { request_id, tasks };
      return (await call<{ ids: string[] }>('POST', tasksPath(queue), body)).ids;
    },
    claim: async (queue, options) =>
      firstLease((await claims.claim([queue], named(options))).leases),
    async next(queue, ends, options) {
      const { leases, ended = [] } = await claims.claim([queue], { ...named(options), ends });
      return { ended, lease: firstLease(leases) };
    },
    async claimAny(queues, options) {
      const answer = await claims.claim(queues, named(options));
      return { ...answer, leases: answer.leases.map((leased) => createLease(leases, leased)) };
    },
    claimForWorker: async (queue, worker, lease_seconds) =>
      firstLease((await claims.claimForWorker(queue, worker, lease_seconds)).leases),
    leases,
    pools: httpPools(call),
    work: createWork({ ...claims, ...leases }, worker),
    call: withRequestId(call),
  };
  return client as Tock<Q>;
}
