export type { CallOptions, Method } from './call.ts';
export {
  Fatal,
  LeaseLost,
  type Problem,
  RetryIn,
  TaskCancelled,
  TockError,
  WorkerStopped,
} from './errors.ts';
export type { Lease, Leases } from './lease.ts';
export type { Assigned, Place, Pools, Taken } from './pools.ts';
export { createTock, type Tock, type TockOptions } from './tock.ts';
export type * from './types.ts';
export type { Around, Context, Handler, Handlers, Trace } from './worker/handlers.ts';
export type { Worked, WorkOptions } from './worker/work.ts';
