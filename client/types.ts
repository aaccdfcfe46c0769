import type { Answer, Task as Asked, Body, Query, Changes as Wanted } from './wire.ts';

// The published names of what wire.ts, which is made of the OpenAPI document, says of each route.

/** Queues by name, with what their tasks' payloads are: `type Queues = { email: { to: string } }`. */
export type AnyQueues = Record<string, unknown>;
export type Name<Q> = keyof Q & string;

/** What is not wanted is left out, rather than null. */
type Given<T> = { [K in keyof T]: Exclude<T[K], null> };

export type Task = Answer<'GET /v1/tasks/{id}'>;
export type Run = Task['runs'][number];
export type TaskState = Task['state'];

/** What a task can ask for; the README says what each does. Instants are ISO 8601. */
export type TaskOptions = Given<Omit<Asked, 'payload'>>;
export type Backoff = NonNullable<TaskOptions['backoff']>;
export type NewTask<P = unknown> = TaskOptions & { payload: P };

/** Said again within 24 hours, a call gives the same answer and does nothing twice. */
export type Repeatable = { request_id?: string };

type ClaimOfSeveral = Answer<'POST /v1/claim'>;
type LeaseOfSeveral = ClaimOfSeveral['leases'][number];

/** A task as a claim gives it; `attempt` is from 1. */
export type Claimed<P = unknown> = Omit<LeaseOfSeveral['tasks'][number], 'payload'> & {
  queue: string;
  payload: P;
};
export type ClaimState = ClaimOfSeveral['state'];
export type ClaimOptions = Given<Body<'POST /v1/queues/{queue}/claim'>>;
export type LeasedTasks<P = unknown> = Omit<LeaseOfSeveral, 'tasks'> & { tasks: Claimed<P>[] };
export type ClaimAnswer<P = unknown> = Omit<ClaimOfSeveral, 'leases'> & {
  leases: LeasedTasks<P>[];
};

export type Completed = Answer<'POST /v1/leases/{lease}/complete'>;
export type Failed = Answer<'POST /v1/leases/{lease}/fail'>;
export type Released = Answer<'POST /v1/leases/{lease}/release'>;
export type Extended = Answer<'POST /v1/leases/{lease}/extend'>;

type AnyResult = NonNullable<Body<'POST /v1/leases/{lease}/complete'>['results']>[number];

/** Tasks that a task leaves behind; with `wait` it goes on when those have ended. */
export type Spawn = Given<Omit<NonNullable<AnyResult['spawn']>, 'tasks'>> & { tasks: NewTask[] };
/** `stage` of a pipeline: where the task goes on; null ends it. */
export type Result = Omit<AnyResult, 'spawn'> & { spawn?: Spawn };

type AnyFailure = Extract<Body<'POST /v1/leases/{lease}/fail'>, { failures: unknown }>;
export type Failure = Given<AnyFailure['failures'][number]>;
export type Outcome = Omit<Failure, 'id'>;

type AnyProgress = NonNullable<Body<'POST /v1/leases/{lease}/extend'>['progress']>;
export type ProgressOf = Given<Extract<AnyProgress, unknown[]>[number]>;
export type Progress = Omit<ProgressOf, 'id'>;

export type Parent = Answer<'GET /v1/tasks/{id}/parents'>['parents'][number];
export type Changes<P = unknown> = Omit<Wanted, 'payload'> & { payload?: P };
/** `state` as it was found, or after a cancel: cancelled. */
export type Changed = Answer<'PATCH /v1/tasks/{id}'>;
export type Rerun = Answer<'POST /v1/tasks/rerun'>['tasks'][number];

/** Tasks of one queue or of all, the newest first. `from` and `to` are instants in ISO 8601. */
export type Filter = Query<'GET /v1/tasks'>;
/** `cursor` is where the next call goes on; null when nothing is left to look at. */
export type Page = Answer<'GET /v1/tasks'>;
export type Listed = Page['tasks'][number];

export type Archived = Partial<Query<'GET /v1/archive/tasks'>>;
export type Found = Answer<'GET /v1/archive/tasks'>;

/** An open lease, without its token, or what is of one stream of it; `tasks` are up to ten of those that have not ended. */
export type Running = Answer<'GET /v1/leases'>['leases'][number];
/** Why tasks of a queue are late, and what to do. */
export type Reason = Answer<'GET /v1/queues/{queue}/why'>['reasons'][number];

export type Redrive = Given<Body<'POST /v1/queues/{queue}/redrive'>>;
export type Redriven = Answer<'POST /v1/queues/{queue}/redrive'>;
export type Where = Given<Body<'POST /v1/queues/{queue}/cancel'>>;
export type Part = Answer<'POST /v1/queues/{queue}/cancel'>;
