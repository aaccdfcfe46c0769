import type { Call } from './call.ts';
import { nullOnStatus } from './pools.ts';
import { queryString } from './route.ts';
import type {
  AnyQueues,
  ArchiveFilter,
  ArchivePage,
  BulkChange,
  BulkFilter,
  BulkPage,
  ChangedTask,
  Changes,
  ChildPage,
  DelayReason,
  IdempotencyOptions,
  Name,
  NewBulkChange,
  OpenLease,
  Parent,
  RedriveOptions,
  RedrivePage,
  Rerun,
  Signalled,
  Task,
  TaskFilter,
  TaskPage,
  TaskStep,
  WorkerActivity,
} from './types.ts';

/** Existing tasks: how to read and change them. */
export type Tasks<Q = AnyQueues> = {
  /** The task and all its runs; null if there is none. With wait_seconds (up to 30) waits until the task has ended. */
  task(id: string, options?: { wait_seconds?: number }): Promise<Task | null>;
  /** The tasks that it depends on; null if there is no such task. */
  parents(id: string, options?: { after?: number; limit?: number }): Promise<Parent[] | null>;
  /** The tasks that depend on it or are parts of it, one page a call; null if there is no such task. */
  children(id: string, options?: { cursor?: string; limit?: number }): Promise<ChildPage | null>;
  /** Tasks of one queue or of all, newest first, one page a call. Continue while there is a cursor. */
  tasks(filter?: TaskFilter): Promise<TaskPage>;
  /** Like tasks(), for archived history in object storage. */
  archived(filter: ArchiveFilter & { queue: Name<Q> }): Promise<ArchivePage>;
  /** Open leases, earliest end first. */
  openLeases(
    filter?: Pick<TaskFilter, 'queue' | 'worker' | 'cursor' | 'limit'>,
  ): Promise<{ leases: OpenLease[]; cursor: string | null; scanned: number }>;
  /** The workers that claimed tasks in the last `seconds` (default 3600), also those that are idle now. */
  workers(filter?: {
    queue?: Name<Q>;
    seconds?: number;
    limit?: number;
  }): Promise<WorkerActivity[]>;
  /** Why tasks of a queue are late; empty if they aren't. */
  why(queue: Name<Q>): Promise<DelayReason[]>;
  /** Cancels up to 10,000 tasks. The answer omits unknown ids. */
  cancel(ids: string[]): Promise<ChangedTask[]>;
  /** Returns null if there is no such task. Throws a TockError with status 409 if it has ended. */
  change(id: string, changes: Changes): Promise<ChangedTask | null>;
  move(ids: string[], queue: Name<Q>): Promise<ChangedTask[]>;
  /**
   * With `again: false` it leaves out tasks that have a rerun already. With `from_step` the new task of one id has the
   * steps that were saved before that step.
   */
  rerun(
    ids: string[],
    options?: IdempotencyOptions & { reason?: string; again?: boolean; from_step?: string },
  ): Promise<Rerun[]>;
  /** The saved steps of a task; null if there is no such task. */
  steps(id: string): Promise<TaskStep[] | null>;
  /** Gives an event its payload and wakes the tasks that wait for it. The first payload of an event counts. */
  signal(event: string, payload?: unknown, options?: IdempotencyOptions): Promise<Signalled>;
  /** Reruns dead tasks, one page a call. Continue while there is a cursor. */
  redrive(queue: Name<Q>, options?: RedriveOptions): Promise<RedrivePage>;
  /** Cancels tasks of a queue by their attributes, one page a call. */
  cancelWhere(queue: Name<Q>, where?: BulkFilter): Promise<BulkPage>;
  reprioritizeWhere(queue: Name<Q>, priority: number, where?: BulkFilter): Promise<BulkPage>;
  /** Starts a change of all tasks that match, which the database goes on with. Returns its id. */
  startBulkChange(queue: Name<Q>, change: NewBulkChange): Promise<string>;
  /** How far it is; null if there is no such change. */
  bulkChange(id: string): Promise<BulkChange | null>;
  /** Those of the last 30 days, newest first. For the next page, `before` is the last id. */
  bulkChanges(filter?: { queue?: Name<Q>; before?: string; limit?: number }): Promise<BulkChange[]>;
  /** Stops it before its next page. Returns its state; null if there is no such change. */
  stopBulkChange(id: string): Promise<BulkChange['state'] | null>;
};

export function httpTasks(call: Call): Tasks {
  const queuePath = (queue: string) => `/v1/queues/${encodeURIComponent(queue)}`;
  const bulkChangePath = (id: string) => `/v1/bulk-changes/${encodeURIComponent(id)}`;
  const taskPath = (id: string) => `/v1/tasks/${encodeURIComponent(id)}`;
  const postIds = async <T>(verb: string, body: object) =>
    (await call<{ tasks: T[] }>('POST', `/v1/tasks/${verb}`, body)).tasks;
  return {
    task: (id, { wait_seconds } = {}) =>
      nullOnStatus(
        404,
        call('GET', taskPath(id) + queryString({ wait_seconds }), undefined, { wait_seconds }),
      ),
    async parents(id, options = {}) {
      const path = `${taskPath(id)}/parents${queryString(options)}`;
      return (await nullOnStatus(404, call<{ parents: Parent[] }>('GET', path)))?.parents ?? null;
    },
    children: (id, options = {}) =>
      nullOnStatus(404, call('GET', `${taskPath(id)}/children${queryString(options)}`)),
    tasks: (filter = {}) => call('GET', `/v1/tasks${queryString(filter)}`),
    archived: (filter) => call('GET', `/v1/archive/tasks${queryString(filter)}`),
    openLeases: (filter = {}) => call('GET', `/v1/leases${queryString(filter)}`),
    workers: async (filter = {}) =>
      (await call<{ workers: WorkerActivity[] }>('GET', `/v1/workers${queryString(filter)}`))
        .workers,
    why: async (queue) =>
      (await call<{ reasons: DelayReason[] }>('GET', `${queuePath(queue)}/why`)).reasons,
    cancel: (ids) => postIds('cancel', { ids }),
    change: (id, changes) => nullOnStatus(404, call('PATCH', taskPath(id), changes)),
    move: (ids, queue) => postIds('move', { ids, queue }),
    rerun: (ids, { request_id = crypto.randomUUID(), ...options } = {}) =>
      postIds('rerun', { ids, request_id, ...options }),
    steps: async (id) =>
      (await nullOnStatus(404, call<{ steps: TaskStep[] }>('GET', `${taskPath(id)}/steps`)))
        ?.steps ?? null,
    signal: (event, payload = null, { request_id = crypto.randomUUID() } = {}) =>
      call('POST', '/v1/events', { event, payload, request_id }),
    redrive: (queue, { request_id = crypto.randomUUID(), ...options } = {}) =>
      call('POST', `${queuePath(queue)}/redrive`, { request_id, ...options }),
    cancelWhere: (queue, where = {}) => call('POST', `${queuePath(queue)}/cancel`, where),
    reprioritizeWhere: (queue, priority, where) =>
      call('POST', `${queuePath(queue)}/reprioritize`, { priority, ...where }),
    startBulkChange: async (queue, { request_id = crypto.randomUUID(), ...change }) =>
      (
        await call<{ id: string }>('POST', `${queuePath(queue)}/bulk-changes`, {
          request_id,
          ...change,
        })
      ).id,
    bulkChange: (id) => nullOnStatus(404, call('GET', bulkChangePath(id))),
    bulkChanges: async (filter = {}) =>
      (await call<{ bulk_changes: BulkChange[] }>('GET', `/v1/bulk-changes${queryString(filter)}`))
        .bulk_changes,
    async stopBulkChange(id) {
      const stopped = call<Pick<BulkChange, 'state'>>('POST', `${bulkChangePath(id)}/stop`, {});
      return (await nullOnStatus(404, stopped))?.state ?? null;
    },
  };
}
