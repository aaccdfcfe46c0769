import type { Call } from './call.ts';
import { unless } from './pools.ts';
import { queryString } from './route.ts';
import type {
  AnyQueues,
  Archived,
  Changed,
  Changes,
  Filter,
  Found,
  Name,
  Page,
  Parent,
  Part,
  Reason,
  Redrive,
  Redriven,
  Repeatable,
  Rerun,
  Running,
  Task,
  Where,
} from './types.ts';

/** Tasks that are there: how they stand, and changes of mind about them. */
export type Tasks<Q = AnyQueues> = {
  /** The task and all its runs, at once, or when it has ended (up to 30 seconds later); null when there is none. */
  task(id: string, options?: { wait_seconds?: number }): Promise<Task | null>;
  /** Those it comes after; null when there is no such task. */
  parents(id: string, options?: { after?: number; limit?: number }): Promise<Parent[] | null>;
  /** Of one queue or of all, the newest first, a part a call: go on while there is a cursor. */
  tasks(filter?: Filter): Promise<Page>;
  /** The same of history that lies in object storage. */
  archived(filter: Archived & { queue: Name<Q> }): Promise<Found>;
  /** Who runs what: open leases, the one that ends first at the top. */
  running(
    filter?: Pick<Filter, 'queue' | 'worker' | 'cursor' | 'limit'>,
  ): Promise<{ leases: Running[]; cursor: string | null; looked_at: number }>;
  /** Why tasks of a queue are late; none when they aren't. */
  why(queue: Name<Q>): Promise<Reason[]>;
  /** Up to 10,000; ids that nobody knows are left out. */
  cancel(ids: string[]): Promise<Changed[]>;
  /** Null when there is no such task; a TockError with status 409 when it has ended. */
  change(id: string, changes: Changes): Promise<Changed | null>;
  move(ids: string[], queue: Name<Q>): Promise<Changed[]>;
  rerun(ids: string[], options?: Repeatable & { reason?: string }): Promise<Rerun[]>;
  /** Dead tasks run again, a part a call: go on while there is a cursor. */
  redrive(queue: Name<Q>, options?: Redrive): Promise<Redriven>;
  /** Tasks of a queue by what they are, a part a call. */
  cancelWhere(queue: Name<Q>, where?: Where): Promise<Part>;
  reprioritizeWhere(queue: Name<Q>, priority: number, where?: Where): Promise<Part>;
};

export function httpTasks(call: Call): Tasks {
  const at = (queue: string) => `/v1/queues/${encodeURIComponent(queue)}`;
  const ofTask = (id: string) => `/v1/tasks/${encodeURIComponent(id)}`;
  const many = async <T>(verb: string, body: object) =>
    (await call<{ tasks: T[] }>('POST', `/v1/tasks/${verb}`, body)).tasks;
  return {
    task: (id, { wait_seconds } = {}) =>
      unless(
        404,
        call('GET', ofTask(id) + queryString({ wait_seconds }), undefined, { wait_seconds }),
      ),
    async parents(id, options = {}) {
      const path = `${ofTask(id)}/parents${queryString(options)}`;
      return (await unless(404, call<{ parents: Parent[] }>('GET', path)))?.parents ?? null;
    },
    tasks: (filter = {}) => call('GET', `/v1/tasks${queryString(filter)}`),
    archived: (filter) => call('GET', `/v1/archive/tasks${queryString(filter)}`),
    running: (filter = {}) => call('GET', `/v1/leases${queryString(filter)}`),
    why: async (queue) => (await call<{ reasons: Reason[] }>('GET', `${at(queue)}/why`)).reasons,
    cancel: (ids) => many('cancel', { ids }),
    change: (id, changes) => unless(404, call('PATCH', ofTask(id), changes)),
    move: (ids, queue) => many('move', { ids, queue }),
    rerun: (ids, { request_id = crypto.randomUUID(), reason } = {}) =>
      many('rerun', { ids, request_id, reason }),
    redrive: (queue, { request_id = crypto.randomUUID(), ...options } = {}) =>
      call('POST', `${at(queue)}/redrive`, { request_id, ...options }),
    cancelWhere: (queue, where = {}) => call('POST', `${at(queue)}/cancel`, where),
    reprioritizeWhere: (queue, priority, where) =>
      call('POST', `${at(queue)}/reprioritize`, { priority, ...where }),
  };
}
