import type { Answer, Body, Query, Changes as WireChanges, Task as WireTask } from './wire.ts';

// Published names for types of wire.ts, which is generated from the OpenAPI document.

/** Queues by name, with their payload types: `type Queues = { email: { to: string } }`. */
export type AnyQueues = Record<string, unknown>;
export type Name<Q> = keyof Q & string;

/** Optional fields are left out rather than null. */
type NonNullFields<T> = { [K in keyof T]: Exclude<T[K], null> };

export type Task = Answer<'GET /v1/tasks/{id}'>;
export type Run = Task['runs'][number];
export type TaskState = Task['state'];

/** Options of a task, as docs/guides/task-options.md describes them. Instants are ISO 8601. */
export type TaskOptions = NonNullFields<Omit<WireTask, 'payload'>>;
export type Backoff = NonNullable<TaskOptions['backoff']>;
export type NewTask<P = unknown> = TaskOptions & { payload: P };

/** A call repeated with the same request id within 24 hours returns the same answer and has no further effect. */
export type IdempotencyOptions = { request_id?: string };

type ClaimOfSeveral = Answer<'POST /v1/claim'>;
type LeaseOfSeveral = ClaimOfSeveral['leases'][number];

/** A task as claim returns it; `attempt` starts at 1. */
export type Claimed<P = unknown> = Omit<LeaseOfSeveral['tasks'][number], 'payload'> & {
  queue: string;
  payload: P;
};
export type ClaimState = ClaimOfSeveral['state'];
type ClaimBody = NonNullFields<Body<'POST /v1/queues/{queue}/claim'>>;
export type ClaimOptions = Omit<ClaimBody, 'ends'>;
/** What happened to a lease of `ends`. */
export type Ended = NonNullable<Answer<'POST /v1/queues/{queue}/claim'>['ended']>[number];
export type LeasedTasks<P = unknown> = Omit<LeaseOfSeveral, 'tasks'> & { tasks: Claimed<P>[] };
export type ClaimAnswer<P = unknown> = Omit<ClaimOfSeveral, 'leases'> & {
  leases: LeasedTasks<P>[];
  /** What happened to the leases of `ends`, in the same order. Unknown after a claim whose answer was lost. */
  ended?: Ended[];
};

export type Completed = Answer<'POST /v1/leases/{lease}/complete'>;
export type Failed = Answer<'POST /v1/leases/{lease}/fail'>;
export type Released = Answer<'POST /v1/leases/{lease}/release'>;
export type Extended = Answer<'POST /v1/leases/{lease}/extend'>;

type AnyResult = NonNullable<Body<'POST /v1/leases/{lease}/complete'>['results']>[number];

/** Child tasks; with `wait` the task continues once they have ended. */
export type Spawn = NonNullFields<Omit<NonNullable<AnyResult['spawn']>, 'tasks'>> & {
  tasks: NewTask[];
};
/** `stage` names the stage in which the task continues; null ends its pipeline, and so the task. */
export type Result = Omit<AnyResult, 'spawn'> & { spawn?: Spawn };

type AnyFailure = Extract<Body<'POST /v1/leases/{lease}/fail'>, { failures: unknown }>;
export type Failure = NonNullFields<AnyFailure['failures'][number]>;
export type Outcome = Omit<Failure, 'id'>;
/** What a claim ends first: all tasks of a lease that are left, or those in results and failures. */
export type LeaseEnd = { lease: string; results?: Result[]; failures?: Failure[] };

type AnyProgress = NonNullable<Body<'POST /v1/leases/{lease}/extend'>['progress']>;
export type ProgressOf = NonNullFields<Extract<AnyProgress, unknown[]>[number]>;
export type Progress = Omit<ProgressOf, 'id'>;

export type NewStep = Body<'POST /v1/leases/{lease}/steps'>['steps'][number];
export type StepOutcome = Answer<'POST /v1/leases/{lease}/steps'>['steps'][number];
export type SavedStep = Answer<'GET /v1/leases/{lease}/steps'>['steps'][number];
export type TaskStep = Answer<'GET /v1/tasks/{id}/steps'>['steps'][number];
/** `accepted` is false if the event had a payload before. */
export type Signalled = Answer<'POST /v1/events'>;

export type Parent = Answer<'GET /v1/tasks/{id}/parents'>['parents'][number];
export type ChildPage = Answer<'GET /v1/tasks/{id}/children'>;
export type Changes<P = unknown> = Omit<WireChanges, 'payload'> & { payload?: P };
/** `state` is the task's state before the change, or `cancelled` after a cancel. */
export type ChangedTask = Answer<'PATCH /v1/tasks/{id}'>;
export type Rerun = Answer<'POST /v1/tasks/rerun'>['tasks'][number];

/** Filters of a task listing. `from` and `to` are ISO 8601 instants. */
export type TaskFilter = Query<'GET /v1/tasks'>;
/** `cursor` is where the next page starts; null on the last page. */
export type TaskPage = Answer<'GET /v1/tasks'>;
export type ListedTask = TaskPage['tasks'][number];

export type ArchiveFilter = Partial<Query<'GET /v1/archive/tasks'>>;
export type ArchivePage = Answer<'GET /v1/archive/tasks'>;

/** An open lease, or its part in one stream, without its token. `tasks` has up to ten of its unfinished tasks. */
export type OpenLease = Answer<'GET /v1/leases'>['leases'][number];
/** What a worker did lately, by its leases. */
export type WorkerActivity = Answer<'GET /v1/workers'>['workers'][number];
/** Why tasks of a queue are late, and what to do about it. */
export type DelayReason = Answer<'GET /v1/queues/{queue}/why'>['reasons'][number];

export type RedriveOptions = NonNullFields<Body<'POST /v1/queues/{queue}/redrive'>>;
export type RedrivePage = Answer<'POST /v1/queues/{queue}/redrive'>;
export type BulkFilter = NonNullFields<Body<'POST /v1/queues/{queue}/cancel'>>;
export type BulkPage = Answer<'POST /v1/queues/{queue}/cancel'>;
export type NewBulkChange = NonNullFields<Body<'POST /v1/queues/{queue}/bulk-changes'>>;
/** A change of all tasks that match a filter, which the database goes on with. */
export type BulkChange = Answer<'GET /v1/bulk-changes/{id}'>;
