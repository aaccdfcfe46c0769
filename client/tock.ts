import { type Call, type CallOptions, caller } from './call.ts';
import { type Claims, httpClaims } from './claims.ts';
import { httpLeases, type Lease, type Leases, leaseOf } from './lease.ts';
import { httpPools, type Pools } from './pools.ts';
import { httpTasks, type Tasks } from './tasks.ts';
import type {
  AnyQueues,
  ClaimOptions,
  ClaimState,
  LeasedTasks,
  Name,
  NewTask,
  Repeatable,
  TaskOptions,
} from './types.ts';
import { type Handler, type Handlers, handlersOf } from './worker/handlers.ts';
import { type Worked, type WorkOptions, work } from './worker/work.ts';

export type Tock<Q = AnyQueues> = Tasks<Q> & {
  /** Its id; or with a unique_key, that of the task that stands for the key. */
  enqueue<N extends Name<Q>>(
    queue: N,
    payload: Q[N],
    options?: TaskOptions & Repeatable,
  ): Promise<string>;
  /** Up to 10,000, all or none; their ids, in order. */
  enqueueMany<N extends Name<Q>>(
    queue: N,
    tasks: NewTask<Q[N]>[],
    options?: Repeatable,
  ): Promise<string[]>;
  /** Null when nothing is ready, after wait_seconds (up to 30) if they are given. */
  claim<N extends Name<Q>>(queue: N, options?: ClaimOptions): Promise<Lease<Q[N]> | null>;
  /** From several queues, in order or by weights: a lease of each that had something. */
  claimAny<N extends Name<Q>>(
    queues: (N | { queue: N; weight: number })[],
    options?: ClaimOptions,
  ): Promise<{ leases: Lease<Q[N]>[]; state: ClaimState; retry_after_seconds: number }>;
  /** One task for a worker: while its lease is open the same again, with a later end. */
  claimOwn<N extends Name<Q>>(
    queue: N,
    worker: string,
    lease_seconds?: number,
  ): Promise<Lease<Q[N]> | null>;
  /** A lease by its token. */
  leases: Leases;
  pools: Pools;
  /** Claims, runs handlers and tells what came of it, until it is told to stop, or there is nothing left. */
  work<N extends Name<Q>>(queue: N, handler: Handler<Q[N]>, options?: WorkOptions): Promise<Worked>;
  /** The same for several queues with a handler each, claimed from in this order or by `weights`. */
  work(handlers: Handlers<Q>, options?: WorkOptions): Promise<Worked>;
  /** Any route. A POST goes with a request id of its own, where its body has none. */
  call: Call;
};

export type TockOptions = CallOptions;

function isNamed(body: object | string | undefined): boolean {
  try {
    const said = typeof body === 'string' ? JSON.parse(body) : body;
    return said?.request_id != null;
  } catch {
    // The server says what is wrong with it.
    return false;
  }
}

/** Calls that anybody may make: repeated without a request id, a POST would do twice what it does. */
function repeatable(call: Call): Call {
  return (method, path, body, patience) => {
    if (method !== 'POST' || isNamed(body)) return call(method, path, body, patience);
    return call(method, path, body, { request_id: crypto.randomUUID(), ...patience });
  };
}

/** A Tock by the claims and leases of one way to it: HTTP, or SQL. */
export function workerOf<Q, C>(source: Claims & Leases) {
  type Context = C;
  return (
    first: string | Handlers<Q, Context>,
    second?: Handler<never, Context> | WorkOptions,
    third?: WorkOptions,
  ): Promise<Worked> => {
    const [handlers, options] = handlersOf(first as never, second as never, third);
    return work(source, handlers, options);
  };
}

/** Talks to Tock over HTTP, by fetch alone: in browsers, Node, Workers, Deno and Bun. */
export function createTock<Q = AnyQueues>(options: TockOptions): Tock<Q> {
  const call = caller(options);
  const leases = httpLeases(call);
  const claims = httpClaims(call);
  const first = (all: LeasedTasks[]) => (all[0] ? leaseOf(leases, all[0]) : null);
  const tasksOf = (queue: string) => `/v1/queues/${encodeURIComponent(queue)}/tasks`;
  const client: Tock = {
    ...httpTasks(call),
    async enqueue(queue, payload, { request_id = crypto.randomUUID(), ...options } = {}) {
      const body = { request_id, ...options, payload };
      const { ids } = await call<{ ids: [string] }>('POST', tasksOf(queue), body);
      return ids[0];
    },
    async enqueueMany(queue, tasks, { request_id = crypto.randomUUID() } = {}) {
      const body = { request_id, tasks };
      return (await call<{ ids: string[] }>('POST', tasksOf(queue), body)).ids;
    },
    claim: async (queue, options) => first((await claims.claim([queue], options)).leases),
    async claimAny(queues, options) {
      const answer = await claims.claim(queues, options);
      return { ...answer, leases: answer.leases.map((leased) => leaseOf(leases, leased)) };
    },
    claimOwn: async (queue, worker, lease_seconds) =>
      first((await claims.claimOwn(queue, worker, lease_seconds)).leases),
    leases,
    pools: httpPools(call),
    work: workerOf({ ...claims, ...leases }),
    call: repeatable(call),
  };
  return client as Tock<Q>;
}
