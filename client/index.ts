export type { CallOptions, Method } from './call.ts';
export {
  Fatal,
  LeaseLost,
  type Problem,
  RetryIn,
  StepFailed,
  TaskCancelled,
  TockError,
  WaitTimedOut,
  WorkerStopped,
} from './errors.ts';
export type { Lease, Leases } from './lease.ts';
export type {
  Assignment,
  PoolMember,
  Pools,
  TakenTask,
} from './pools.ts';
export { createTock, type Tock, type TockOptions } from './tock.ts';
export type * from './types.ts';
export type { Context, Handler, Handlers, Middleware, Trace } from './worker/handlers.ts';
export type {
  Duration,
  InvokeOptions,
  StepOptions,
  Steps,
  SuspendOptions,
  WaitForOptions,
} from './worker/step_types.ts';
export type { WorkCounts, WorkOptions } from './worker/work.ts';
