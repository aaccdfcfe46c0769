// Made by scripts/wire_types.ts from the OpenAPI document.

export type Problem = {
  type: string;
  title: string;
  status: number;
  detail: string;
  /** The invalid field, like tasks[3].priority. */
  field?: string;
  /** What to do next. */
  hint?: string;
  errors?: {
    field: string;
    detail: string;
  }[];
};

export type Task = {
  payload?: unknown;
  delay_seconds?: number | null;
  run_at?: string | null;
  /** 0 runs first. Default: 5. */
  priority?: number | null;
  tenant?: string | null;
  max_attempts?: number | null;
  concurrency_key?: string | null;
  expires_at?: string | null;
  expires_in_seconds?: number | null;
  timeout_seconds?: number | null;
  unique_key?: string | null;
  unique_policy?: 'pending' | 'unfinished' | 'period' | null;
  unique_seconds?: number | null;
  on_conflict?: 'keep' | 'replace' | 'merge' | 'debounce' | 'throttle' | 'rerun' | null;
  debounce_max_seconds?: number | null;
  changed_at?: string | null;
  backoff?: {
    kind?: 'fixed' | 'linear' | 'exponential';
    base_seconds?: number;
    factor?: number;
    cap_seconds?: number;
    jitter?: number;
  } | null;
  name?: string | null;
  depends_on?: (number | string)[] | null;
  on_parent_failure?: 'cancel' | 'run' | 'wait' | null;
  include_results?: boolean | null;
  parent?: string | null;
  /** A task's stages, in order. The queue of the enqueue is one of them. */
  pipeline?: string[] | null;
  headers?: Record<string, string> | null;
  push_url?: string | null;
};

export type Changes = {
  /** 0 runs first. Default: 5. */
  priority?: number;
  delay_seconds?: number;
  run_at?: string;
  payload?: unknown;
};

export type Policy = {
  lease_seconds: number;
  max_attempts: number;
  max_lost: number;
  backoff_kind: 'fixed' | 'linear' | 'exponential';
  backoff_base_seconds: number;
  backoff_factor: number;
  backoff_cap_seconds: number;
  backoff_jitter: number;
  lanes: number;
  max_payload_bytes: number;
  paused: boolean;
  retention_seconds: number;
  pause_after_restore: boolean;
  timeout_seconds: number | null;
  max_wait_seconds: number | null;
  concurrency_limit: number;
  concurrency_retry: 'keep' | 'yield';
  concurrency_rate_limit: number | null;
  concurrency_rate_seconds: number;
  concurrency_rate_burst: number | null;
  max_running: number | null;
  rate_limit: number | null;
  rate_seconds: number;
  rate_burst: number | null;
  keep_results: boolean;
  push: {
    url?: string | null;
    timeout_seconds?: number | null;
  } | null;
  dead_webhook: {
    url: string;
  } | null;
};

/** What each route takes, and what it answers. */
export type Routes = {
  /** Enqueue one task, or up to 10,000 in one transaction */
  'POST /v1/queues/{queue}/tasks': {
    path: {
      queue: string;
    };
    query: unknown;
    body:
      | {
          tasks: Task[];
          request_id?: string | null;
        }
      | {
          payload?: unknown;
          delay_seconds?: number | null;
          run_at?: string | null;
          /** 0 runs first. Default: 5. */
          priority?: number | null;
          tenant?: string | null;
          max_attempts?: number | null;
          concurrency_key?: string | null;
          expires_at?: string | null;
          expires_in_seconds?: number | null;
          timeout_seconds?: number | null;
          unique_key?: string | null;
          unique_policy?: 'pending' | 'unfinished' | 'period' | null;
          unique_seconds?: number | null;
          on_conflict?: 'keep' | 'replace' | 'merge' | 'debounce' | 'throttle' | 'rerun' | null;
          debounce_max_seconds?: number | null;
          changed_at?: string | null;
          backoff?: {
            kind?: 'fixed' | 'linear' | 'exponential';
            base_seconds?: number;
            factor?: number;
            cap_seconds?: number;
            jitter?: number;
          } | null;
          name?: string | null;
          depends_on?: (number | string)[] | null;
          on_parent_failure?: 'cancel' | 'run' | 'wait' | null;
          include_results?: boolean | null;
          parent?: string | null;
          /** A task's stages, in order. The queue of the enqueue is one of them. */
          pipeline?: string[] | null;
          headers?: Record<string, string> | null;
          push_url?: string | null;
          request_id?: string | null;
        };
    answer: {
      ids: string[];
    };
  };
  /** A task and its runs: at once, or when it has ended, after at most wait_seconds */
  'GET /v1/tasks/{id}': {
    path: {
      id: string;
    };
    query: {
      wait_seconds?: number;
    };
    body: undefined;
    answer: {
      id: string;
      queue: string;
      state: 'waiting' | 'ready' | 'running' | 'done' | 'dead' | 'cancelled' | 'expired';
      priority: number;
      tenant: string | null;
      attempt: number;
      max_attempts: number;
      lost: number;
      created_at: string;
      run_at: string | null;
      ended_at: string | null;
      payload: unknown;
      result: unknown;
      error: unknown;
      options: Record<string, unknown> | null;
      progress: number | null;
      note: string | null;
      runs: {
        id: string;
        queue: string;
        attempt: number;
        state: string;
        worker: string | null;
        started_at: string | null;
        leased_until: string | null;
        ended_at: string | null;
        cancel_requested: boolean;
        progress: number | null;
        note: string | null;
        result: unknown;
        error: unknown;
      }[];
      rerun_of: string | null;
      reruns: {
        id: string;
        kind: 'rerun' | 'redrive';
        reason: string | null;
        created_at: string;
      }[];
    };
  };
  /** Change a task's priority, time or payload; for a running task from its next attempt */
  'PATCH /v1/tasks/{id}': {
    path: {
      id: string;
    };
    query: unknown;
    body: Changes;
    answer: {
      id: string;
      /** The state at the time of the call; after a cancel, cancelled. */
      state: 'waiting' | 'ready' | 'running' | 'done' | 'dead' | 'cancelled' | 'expired';
      /** For a running task, true means that its worker is notified. */
      changed: boolean;
    };
  };
  /** List the tasks that a task depends on, with their states and results */
  'GET /v1/tasks/{id}/parents': {
    path: {
      id: string;
    };
    query: {
      limit?: number;
      after?: number;
    };
    body: undefined;
    answer: {
      parents: {
        /** The parent's index in depends_on, from 1. */
        n: number;
        id: string;
        name: string | null;
        /** The task's state; gone if its history was dropped. */
        state: string;
        result: unknown;
      }[];
    };
  };
  /** Cancel a task; the worker of a running task is notified when it extends the lease */
  'POST /v1/tasks/{id}/cancel': {
    path: {
      id: string;
    };
    query: unknown;
    body: object;
    answer: {
      id: string;
      /** The state at the time of the call; after a cancel, cancelled. */
      state: 'waiting' | 'ready' | 'running' | 'done' | 'dead' | 'cancelled' | 'expired';
      /** For a running task, true means that its worker is notified. */
      changed: boolean;
    };
  };
  /** Cancel up to 10,000 tasks; unknown ids are left out of the answer */
  'POST /v1/tasks/cancel': {
    path: unknown;
    query: unknown;
    body: {
      ids: string[];
    };
    answer: {
      tasks: {
        id: string;
        /** The state at the time of the call; after a cancel, cancelled. */
        state: 'waiting' | 'ready' | 'running' | 'done' | 'dead' | 'cancelled' | 'expired';
        /** For a running task, true means that its worker is notified. */
        changed: boolean;
      }[];
    };
  };
  /** Permanently erase an ended task's payload, results and errors of all its runs */
  'DELETE /v1/tasks/{id}/payload': {
    path: {
      id: string;
    };
    query: unknown;
    body: undefined;
    answer: {
      erased: number;
    };
  };
  /** Move up to 10,000 waiting and ready tasks to another queue */
  'POST /v1/tasks/move': {
    path: unknown;
    query: unknown;
    body: {
      ids: string[];
      queue: string;
    };
    answer: {
      tasks: {
        id: string;
        state: 'waiting' | 'ready' | 'running' | 'done' | 'dead' | 'cancelled' | 'expired';
        changed: boolean;
      }[];
    };
  };
  /** Cancel tasks of a queue by state and tenant, one part at a time */
  'POST /v1/queues/{queue}/cancel': {
    path: {
      queue: string;
    };
    query: unknown;
    body: {
      state?: 'waiting' | 'ready' | 'running' | null;
      tenant?: string | null;
      cursor?: string | null;
      limit?: number | null;
    };
    answer: {
      matched: number;
      changed: number;
      /** Where the next page starts; null on the last page. */
      cursor: string | null;
      scanned: number;
    };
  };
  /** Change the priority of a queue's tasks by state and tenant, one part at a time */
  'POST /v1/queues/{queue}/reprioritize': {
    path: {
      queue: string;
    };
    query: unknown;
    body: {
      /** 0 runs first. Default: 5. */
      priority: number;
      state?: 'waiting' | 'ready' | 'running' | null;
      tenant?: string | null;
      cursor?: string | null;
      limit?: number | null;
    };
    answer: {
      matched: number;
      changed: number;
      /** Where the next page starts; null on the last page. */
      cursor: string | null;
      scanned: number;
    };
  };
  /** Rerun an ended task as a new task */
  'POST /v1/tasks/{id}/rerun': {
    path: {
      id: string;
    };
    query: unknown;
    body: {
      request_id?: string | null;
      reason?: string | null;
    };
    answer: {
      id: string;
      /** The state at the time of the call. */
      state: 'waiting' | 'ready' | 'running' | 'done' | 'dead' | 'cancelled' | 'expired';
      /** The new task. */
      rerun_id: string | null;
      refused: 'unfinished' | 'erased' | null;
    };
  };
  /** Rerun up to 10,000 ended tasks; unknown ids are left out */
  'POST /v1/tasks/rerun': {
    path: unknown;
    query: unknown;
    body: {
      ids: string[];
      request_id?: string | null;
      reason?: string | null;
    };
    answer: {
      tasks: {
        id: string;
        /** The state at the time of the call. */
        state: 'waiting' | 'ready' | 'running' | 'done' | 'dead' | 'cancelled' | 'expired';
        /** The new task. */
        rerun_id: string | null;
        refused: 'unfinished' | 'erased' | null;
      }[];
    };
  };
  /** Rerun dead tasks of a queue, all or by error or tenant, in this queue or another */
  'POST /v1/queues/{queue}/redrive': {
    path: {
      queue: string;
    };
    query: unknown;
    body: {
      error?: string | null;
      tenant?: string | null;
      limit?: number | null;
      cursor?: string | null;
      to_queue?: string | null;
      again?: boolean | null;
      request_id?: string | null;
      reason?: string | null;
    };
    answer: {
      redriven: number;
      ids: string[];
      /** Where the next page starts; null on the last page. */
      cursor: string | null;
      scanned: number;
    };
  };
  /** List tasks of one or all queues, newest first, one page at a time */
  'GET /v1/tasks': {
    path: unknown;
    query: {
      queue?: string;
      state?: 'waiting' | 'ready' | 'running' | 'done' | 'dead' | 'cancelled' | 'expired';
      tenant?: string;
      error?: string;
      worker?: string;
      rerun?: boolean;
      from?: string;
      to?: string;
      unique_key?: string;
      concurrency_key?: string;
      cursor?: string;
      limit?: number;
    };
    body: undefined;
    answer: {
      tasks: {
        id: string;
        /** The newest run; for a waiting task its entry. */
        run_id: string;
        queue: string;
        state: 'waiting' | 'ready' | 'running' | 'done' | 'dead' | 'cancelled' | 'expired';
        priority: number;
        tenant: string | null;
        attempt: number;
        created_at: string;
        run_at: string | null;
        ended_at: string | null;
        worker: string | null;
        /** The error of a dead task, shortened. */
        error: string | null;
        rerun: boolean;
      }[];
      /** Where the next page starts; null on the last page. */
      cursor: string | null;
      scanned: number;
    };
  };
  /** List a queue's dead tasks by error, most frequent first */
  'GET /v1/queues/{queue}/dead': {
    path: {
      queue: string;
    };
    query: {
      limit?: number;
    };
    body: undefined;
    answer: {
      groups: {
        error: string | null;
        tasks: number;
        newest_at: string;
        newest_id: string;
      }[];
      counted_all: boolean;
    };
  };
  /** The scopes and limits of the key of this request */
  'GET /v1/key': {
    path: unknown;
    query: unknown;
    body: undefined;
    answer: {
      prefix: string;
      name: string;
      scopes: string[];
      queues: string[] | null;
      tenants: string[] | null;
      rate_limit: number | null;
      rate_seconds: number | null;
      created_at: string;
      expires_at: string | null;
    };
  };
  /** List open leases with their workers and tasks, earliest end first */
  'GET /v1/leases': {
    path: unknown;
    query: {
      queue?: string;
      worker?: string;
      cursor?: string;
      limit?: number;
    };
    body: undefined;
    answer: {
      leases: {
        queue: string;
        worker: string | null;
        claimed_at: string;
        leased_until: string;
        late: boolean;
        runs: number;
        unfinished: number;
        /** Up to ten tasks that have not ended. */
        tasks: string[];
      }[];
      /** Where the next page starts; null on the last page. */
      cursor: string | null;
      scanned: number;
    };
  };
  /** List maintenance jobs, pg_cron jobs and segments */
  'GET /v1/maintenance': {
    path: unknown;
    query: unknown;
    body: undefined;
    answer: {
      maintenance_jobs: {
        name: string;
        every_seconds: number;
        last_started_at: string | null;
        last_ok_at: string | null;
        late_seconds: number | null;
        last_amount: number | null;
        last_seconds: number | null;
        last_error: string | null;
        failures: number;
      }[];
      jobs: {
        jobname: string;
        schedule: string;
        active: boolean;
        last_status: string | null;
        last_at: string | null;
      }[];
      segments: {
        number: number;
        state: 'ahead' | 'in use' | 'ended' | 'settled' | 'audited';
        first_position: number;
        end_position: number;
        started_at: string | null;
        closed_at: string | null;
        verified_at: string | null;
        bytes: number | null;
        /** An estimate. */
        runs: number | null;
      }[];
    };
  };
  /** List the reasons why tasks of a queue are late now, most important first; empty if nothing delays them */
  'GET /v1/queues/{queue}/why': {
    path: {
      queue: string;
    };
    query: unknown;
    body: undefined;
    answer: {
      reasons: {
        finding: string;
        severity: 'critical' | 'warning' | 'note';
        detail: string | null;
        hint: string | null;
      }[];
    };
  };
  /** Lease ready tasks, or wait for them up to wait_seconds */
  'POST /v1/queues/{queue}/claim': {
    path: {
      queue: string;
    };
    query: unknown;
    body: {
      worker?: string | null;
      limit?: number;
      lease_seconds?: number | null;
      wait_seconds?: number;
      request_id?: string | null;
    };
    answer: {
      lease: string | null;
      leased_until: string | null;
      tasks: {
        id: string;
        run_id: string;
        attempt: number;
        max_attempts: number;
        priority: number;
        tenant: string | null;
        created_at: string;
        payload: unknown;
        headers: Record<string, string> | null;
        push_url: string | null;
      }[];
      /** limited: the queue's running or rate limit is reached; busy: other claims hold the streams that have tasks; passing: the claim skipped many cancelled tasks, claim again at once. */
      state: 'found' | 'empty' | 'paused' | 'limited' | 'busy' | 'passing';
      retry_after_seconds: number;
    };
  };
  /** Lease one task for a worker, or return the worker's current task with an extended lease */
  'POST /v1/queues/{queue}/claim-for-worker': {
    path: {
      queue: string;
    };
    query: unknown;
    body: {
      worker: string;
      lease_seconds?: number | null;
    };
    answer: {
      lease: string | null;
      leased_until: string | null;
      tasks: {
        id: string;
        run_id: string;
        attempt: number;
        max_attempts: number;
        priority: number;
        tenant: string | null;
        created_at: string;
        payload: unknown;
        headers: Record<string, string> | null;
        push_url: string | null;
      }[];
      /** limited: the queue's running or rate limit is reached; busy: other claims hold the streams that have tasks; passing: the claim skipped many cancelled tasks, claim again at once. */
      state: 'found' | 'empty' | 'paused' | 'limited' | 'busy' | 'passing';
      retry_after_seconds: number;
    };
  };
  /** Lease ready tasks of several queues, in order or by weight */
  'POST /v1/claim': {
    path: unknown;
    query: unknown;
    body: {
      /** With names, the claim takes tasks from the first queue, then from the next while limit is not reached. With weights, each call draws the queue order by them. */
      queues: (
        | string
        | {
            queue: string;
            weight: number;
          }
      )[];
      worker?: string | null;
      limit?: number;
      lease_seconds?: number | null;
      wait_seconds?: number;
      request_id?: string | null;
    };
    answer: {
      leases: {
        queue: string;
        lease: string;
        leased_until: string;
        tasks: {
          id: string;
          run_id: string;
          attempt: number;
          max_attempts: number;
          priority: number;
          tenant: string | null;
          created_at: string;
          payload: unknown;
          headers: Record<string, string> | null;
          push_url: string | null;
        }[];
      }[];
      /** limited: the queue's running or rate limit is reached; busy: other claims hold the streams that have tasks; passing: the claim skipped many cancelled tasks, claim again at once. */
      state: 'found' | 'empty' | 'paused' | 'limited' | 'busy' | 'passing';
      retry_after_seconds: number;
    };
  };
  /** Complete runs: those in results, or all that are left */
  'POST /v1/leases/{lease}/complete': {
    path: {
      lease: string;
    };
    query: unknown;
    body: {
      results?: {
        id: string;
        result?: unknown;
        /** For a task with a pipeline: its next stage; null ends the pipeline here. */
        stage?: string | null;
        /** Tasks to add, by default to the task's own queue. With wait, the task continues when they have ended. */
        spawn?: {
          queue?: string | null;
          tasks: Task[];
          wait?: boolean | null;
          on_failure?: 'run' | 'cancel' | 'wait' | null;
        } | null;
      }[];
    };
    answer: {
      completed: number;
      /** Ids that do not belong to this lease. */
      refused: string[];
    };
  };
  /** Fail runs: those in failures, or all that are left */
  'POST /v1/leases/{lease}/fail': {
    path: {
      lease: string;
    };
    query: unknown;
    body:
      | {
          failures: {
            id: string;
            error?: unknown;
            retry_in_seconds?: number | null;
            fatal?: boolean | null;
          }[];
        }
      | {
          error?: unknown;
          retry_in_seconds?: number | null;
          fatal?: boolean | null;
        };
    answer: {
      failed: number;
      dead: number;
      /** Ids that do not belong to this lease. */
      refused: string[];
    };
  };
  /** Release runs without counting an attempt: those in ids, or all that are left */
  'POST /v1/leases/{lease}/release': {
    path: {
      lease: string;
    };
    query: unknown;
    body: {
      ids?: string[];
    };
    answer: {
      released: number;
      /** Ids that do not belong to this lease. */
      refused: string[];
    };
  };
  /** Extend the lease to lease_seconds from now (never shorten it), record progress, and list the tasks to cancel */
  'POST /v1/leases/{lease}/extend': {
    path: {
      lease: string;
    };
    query: unknown;
    body: {
      lease_seconds?: number;
      /** The progress of runs: a list, or one object for all. */
      progress?:
        | {
            id: string;
            progress?: number | null;
            note?: string | null;
          }[]
        | {
            progress?: number | null;
            note?: string | null;
          }
        | null;
    };
    answer: {
      leased_until: string;
      /** The claimed runs, including those that have ended since, for each priority and lane that still has an open run. */
      runs: number;
      /** Tasks of this lease that were cancelled. */
      cancel: string[];
      /** Ids that do not belong to this lease. */
      refused: string[];
    };
  };
  /** List all pools: how many workers are free or hold a task, and how many tasks wait */
  'GET /v1/pools': {
    path: unknown;
    query: unknown;
    body: undefined;
    answer: {
      pools: {
        pool: string;
        free: number;
        held: number;
        waiting: number;
      }[];
    };
  };
  /** List a pool's workers by name with their state and task, or its waiting tasks */
  'GET /v1/pools/{pool}': {
    path: {
      pool: string;
    };
    query: {
      worker?: string;
      task?: string;
      waiting?: boolean;
      after?: string;
      limit?: number;
    };
    body: undefined;
    answer: {
      places: {
        worker: string | null;
        task: string | null;
        state: 'free' | 'held' | 'waiting';
        /** The fencing token of an assignment: each is larger than all earlier ones, in any pool. */
        fencing_token: string | null;
        since: string;
        leased_until: string | null;
      }[];
    };
  };
  /** Join a pool; repeated calls are heartbeats and return the worker's task */
  'PUT /v1/pools/{pool}/workers/{worker}': {
    path: {
      pool: string;
      worker: string;
    };
    query: unknown;
    body: {
      lease_seconds?: number | null;
      fencing_token?: string | null;
    };
    answer: {
      state: 'free' | 'held' | 'lost' | 'taken' | 'empty' | 'busy';
      task: string | null;
      /** The fencing token of an assignment: each is larger than all earlier ones, in any pool. */
      fencing_token: string | null;
      leased_until: string | null;
    };
  };
  /** Leave a pool: an added task waits again, an assigned task ends its assignment */
  'DELETE /v1/pools/{pool}/workers/{worker}': {
    path: {
      pool: string;
      worker: string;
    };
    query: unknown;
    body: undefined;
    answer: {
      left: boolean;
    };
  };
  /** Assign a task to a free worker, or to a given worker */
  'POST /v1/pools/{pool}/assign': {
    path: {
      pool: string;
    };
    query: unknown;
    body: {
      task: string;
      worker?: string | null;
      lease_seconds?: number | null;
      wait?: boolean;
    };
    answer: {
      state: 'assigned' | 'held' | 'waiting' | 'none' | 'busy';
      worker: string | null;
      /** The fencing token of an assignment: each is larger than all earlier ones, in any pool. */
      fencing_token: string | null;
      leased_until: string | null;
    };
  };
  /** Assign each task to a free worker, while there are any */
  'POST /v1/pools/{pool}/assign-all': {
    path: {
      pool: string;
    };
    query: unknown;
    body: {
      tasks: string[];
      lease_seconds?: number | null;
    };
    answer: {
      tasks: {
        state: 'assigned' | 'held' | 'waiting' | 'none' | 'busy';
        worker: string | null;
        /** The fencing token of an assignment: each is larger than all earlier ones, in any pool. */
        fencing_token: string | null;
        leased_until: string | null;
        task: string;
      }[];
    };
  };
  /** Add tasks to a pool, which workers take in this order */
  'POST /v1/pools/{pool}/tasks': {
    path: {
      pool: string;
    };
    query: unknown;
    body: {
      tasks: string[];
    };
    answer: {
      added: number;
    };
  };
  /** Take the task that has waited longest, or return the worker's current task */
  'POST /v1/pools/{pool}/take': {
    path: {
      pool: string;
    };
    query: unknown;
    body: {
      worker: string;
      lease_seconds?: number | null;
    };
    answer: {
      state: 'free' | 'held' | 'lost' | 'taken' | 'empty' | 'busy';
      task: string | null;
      /** The fencing token of an assignment: each is larger than all earlier ones, in any pool. */
      fencing_token: string | null;
      leased_until: string | null;
    };
  };
  /** Unassign a task, or let the task wait for another worker; its worker is free again */
  'POST /v1/pools/{pool}/unassign': {
    path: {
      pool: string;
    };
    query: unknown;
    body: {
      task: string;
      fencing_token?: string | null;
      again?: boolean;
    };
    answer: {
      unassigned: boolean;
    };
  };
  /** Create a queue, or change the options given */
  'PUT /v1/queues/{queue}': {
    path: {
      queue: string;
    };
    query: unknown;
    body: {
      lease_seconds?: number;
      max_attempts?: number;
      max_lost?: number;
      backoff_kind?: 'fixed' | 'linear' | 'exponential';
      backoff_base_seconds?: number;
      backoff_factor?: number;
      backoff_cap_seconds?: number;
      backoff_jitter?: number;
      lanes?: number;
      max_payload_bytes?: number;
      paused?: boolean;
      retention_seconds?: number;
      pause_after_restore?: boolean;
      timeout_seconds?: number | null;
      max_wait_seconds?: number | null;
      concurrency_limit?: number;
      concurrency_retry?: 'keep' | 'yield';
      concurrency_rate_limit?: number | null;
      concurrency_rate_seconds?: number;
      concurrency_rate_burst?: number | null;
      max_running?: number | null;
      rate_limit?: number | null;
      rate_seconds?: number;
      rate_burst?: number | null;
      keep_results?: boolean;
      push?: {
        url?: string | null;
        timeout_seconds?: number | null;
      } | null;
      dead_webhook?: {
        url: string;
      } | null;
    };
    answer: Policy & {
      name: string;
      created_at: string;
    };
  };
  /** A queue's policy and its counts of tasks */
  'GET /v1/queues/{queue}': {
    path: {
      queue: string;
    };
    query: unknown;
    body: undefined;
    answer: Policy & {
      name: string;
      created_at: string;
      ready: number;
      running: number;
      waiting: number;
      dead: number;
      oldest_ready_at: string | null;
    };
  };
  /** Purge a paused queue, and drop its policy once it has no unfinished tasks */
  'DELETE /v1/queues/{queue}': {
    path: {
      queue: string;
    };
    query: {
      force?: boolean;
    };
    body: undefined;
    answer: {
      dropped: boolean;
      ready: number;
      running: number;
      waiting: number;
    };
  };
  /** List all queues with their counts of tasks */
  'GET /v1/queues': {
    path: unknown;
    query: unknown;
    body: undefined;
    answer: {
      queues: {
        name: string;
        paused: boolean;
        ready: number;
        running: number;
        waiting: number;
        dead: number;
        oldest_ready_at: string | null;
      }[];
    };
  };
  /** The secret that signs a queue's pushes */
  'GET /v1/queues/{queue}/push-secret': {
    path: {
      queue: string;
    };
    query: unknown;
    body: undefined;
    answer: {
      queue: string;
      generation: number;
      /** The secrets with which receivers verify signatures. */
      secret: string;
      /** The secrets that sign now: one for each secret of the Worker, newest first. */
      secrets: string[];
      /** The secrets before the rotation, which also sign until previous_until. */
      previous: string[];
      previous_until: string | null;
    };
  };
  /** Rotate a queue's secret; the previous one also signs for a while */
  'POST /v1/queues/{queue}/push-secret/rotate': {
    path: {
      queue: string;
    };
    query: unknown;
    body: {
      overlap_seconds?: number;
    };
    answer: {
      queue: string;
      generation: number;
      /** The secrets with which receivers verify signatures. */
      secret: string;
      /** The secrets that sign now: one for each secret of the Worker, newest first. */
      secrets: string[];
      /** The secrets before the rotation, which also sign until previous_until. */
      previous: string[];
      previous_until: string | null;
    };
  };
  /** Create a schedule, or replace its settings; omitted settings take their defaults */
  'PUT /v1/schedules/{schedule}': {
    path: {
      schedule: string;
    };
    query: unknown;
    body: {
      queue: string;
      payload?: unknown;
      /** Options of its tasks, as in enqueue: priority, tenant, … */
      options?: Record<string, unknown> | null;
      cron?: string | null;
      every_seconds?: number | null;
      run_at?: string | null;
      time_zone?: string | null;
      jitter_seconds?: number | null;
      starts_at?: string | null;
      ends_at?: string | null;
      overlap?: 'queue' | 'skip' | 'replace' | null;
      missed?: 'one' | 'skip' | 'all' | null;
      missed_limit?: number | null;
      missed_after_seconds?: number | null;
      fire_as?: string | null;
    };
    answer: {
      name: string;
      state: 'active' | 'paused' | 'over';
      queue: string;
      cron: string | null;
      every_seconds: number | null;
      run_at: string | null;
      time_zone: string;
      next_fire_at: string | null;
      due_at: string | null;
      last_fire_at: string | null;
      last_fired_at: string | null;
      last_outcome: string | null;
      last_task_id: string | null;
      last_error: string | null;
      failures: number;
      payload: unknown;
      options: Record<string, unknown>;
      jitter_seconds: number;
      starts_at: string | null;
      ends_at: string | null;
      overlap: string;
      missed: string;
      missed_limit: number;
      missed_after_seconds: number;
      fire_as: string | null;
      paused_at: string | null;
      created_at: string;
      updated_at: string;
    };
  };
  /** A schedule: its settings, its next fire and the result of the last one */
  'GET /v1/schedules/{schedule}': {
    path: {
      schedule: string;
    };
    query: unknown;
    body: undefined;
    answer: {
      name: string;
      state: 'active' | 'paused' | 'over';
      queue: string;
      cron: string | null;
      every_seconds: number | null;
      run_at: string | null;
      time_zone: string;
      next_fire_at: string | null;
      due_at: string | null;
      last_fire_at: string | null;
      last_fired_at: string | null;
      last_outcome: string | null;
      last_task_id: string | null;
      last_error: string | null;
      failures: number;
      payload: unknown;
      options: Record<string, unknown>;
      jitter_seconds: number;
      starts_at: string | null;
      ends_at: string | null;
      overlap: string;
      missed: string;
      missed_limit: number;
      missed_after_seconds: number;
      fire_as: string | null;
      paused_at: string | null;
      created_at: string;
      updated_at: string;
    };
  };
  /** Delete a schedule; tasks that it has enqueued stay */
  'DELETE /v1/schedules/{schedule}': {
    path: {
      schedule: string;
    };
    query: unknown;
    body: undefined;
    answer: {
      dropped: boolean;
    };
  };
  /** List schedules by name, of all queues or one */
  'GET /v1/schedules': {
    path: unknown;
    query: {
      queue?: string;
      after?: string;
      limit?: number;
    };
    body: undefined;
    answer: {
      schedules: {
        name: string;
        state: 'active' | 'paused' | 'over';
        queue: string;
        cron: string | null;
        every_seconds: number | null;
        run_at: string | null;
        time_zone: string;
        next_fire_at: string | null;
        due_at: string | null;
        last_fire_at: string | null;
        last_fired_at: string | null;
        last_outcome: string | null;
        last_task_id: string | null;
        last_error: string | null;
        failures: number;
      }[];
    };
  };
  /** Pause a schedule until it is resumed */
  'POST /v1/schedules/{schedule}/pause': {
    path: {
      schedule: string;
    };
    query: unknown;
    body: object;
    answer: {
      name: string;
      state: 'active' | 'paused' | 'over';
      queue: string;
      cron: string | null;
      every_seconds: number | null;
      run_at: string | null;
      time_zone: string;
      next_fire_at: string | null;
      due_at: string | null;
      last_fire_at: string | null;
      last_fired_at: string | null;
      last_outcome: string | null;
      last_task_id: string | null;
      last_error: string | null;
      failures: number;
      payload: unknown;
      options: Record<string, unknown>;
      jitter_seconds: number;
      starts_at: string | null;
      ends_at: string | null;
      overlap: string;
      missed: string;
      missed_limit: number;
      missed_after_seconds: number;
      fire_as: string | null;
      paused_at: string | null;
      created_at: string;
      updated_at: string;
    };
  };
  /** Resume a schedule at its next fire; fires during the pause do not count as missed */
  'POST /v1/schedules/{schedule}/resume': {
    path: {
      schedule: string;
    };
    query: unknown;
    body: object;
    answer: {
      name: string;
      state: 'active' | 'paused' | 'over';
      queue: string;
      cron: string | null;
      every_seconds: number | null;
      run_at: string | null;
      time_zone: string;
      next_fire_at: string | null;
      due_at: string | null;
      last_fire_at: string | null;
      last_fired_at: string | null;
      last_outcome: string | null;
      last_task_id: string | null;
      last_error: string | null;
      failures: number;
      payload: unknown;
      options: Record<string, unknown>;
      jitter_seconds: number;
      starts_at: string | null;
      ends_at: string | null;
      overlap: string;
      missed: string;
      missed_limit: number;
      missed_after_seconds: number;
      fire_as: string | null;
      paused_at: string | null;
      created_at: string;
      updated_at: string;
    };
  };
  /** Fire a schedule now, even a paused one; its next fire stays */
  'POST /v1/schedules/{schedule}/run': {
    path: {
      schedule: string;
    };
    query: unknown;
    body: {
      request_id?: string | null;
    };
    answer: {
      id: string;
    };
  };
  /** List a schedule's fires of the last seven days with their results, newest first */
  'GET /v1/schedules/{schedule}/fires': {
    path: {
      schedule: string;
    };
    query: {
      limit?: number;
      before?: string;
    };
    body: undefined;
    answer: {
      fires: {
        number: string;
        fire_at: string;
        until_at: string | null;
        fired_at: string;
        outcome: 'fired' | 'run' | 'overlapped' | 'replaced' | 'missed' | 'failed';
        task_id: string | null;
        error: string | null;
      }[];
    };
  };
  /** The next fires of a schedule; for a paused one, as if it were resumed */
  'GET /v1/schedules/{schedule}/next': {
    path: {
      schedule: string;
    };
    query: {
      count?: number;
      after?: string;
    };
    body: undefined;
    answer: {
      fires: {
        fire_at: string;
        local_time: string;
      }[];
    };
  };
  /** The next fires of a cron expression */
  'GET /v1/next-fires': {
    path: unknown;
    query: {
      cron: string;
      time_zone?: string;
      count?: number;
      after?: string;
    };
    body: undefined;
    answer: {
      fires: {
        fire_at: string;
        local_time: string;
      }[];
    };
  };
  /** List a queue's concurrency keys, the first 1,000 by name */
  'GET /v1/queues/{queue}/concurrency-keys': {
    path: {
      queue: string;
    };
    query: unknown;
    body: undefined;
    answer: {
      concurrency_keys: {
        concurrency_limit: number | null;
        concurrency_rate_limit: number | null;
        concurrency_rate_seconds: number | null;
        concurrency_rate_burst: number | null;
        paused: boolean;
        concurrency_key: string;
        holders: string[];
        waiting: number;
      }[];
    };
  };
  /** A concurrency key: its holders and the number of waiters */
  'GET /v1/queues/{queue}/concurrency-keys/{concurrency_key}': {
    path: {
      queue: string;
      concurrency_key: string;
    };
    query: unknown;
    body: undefined;
    answer: {
      concurrency_limit: number | null;
      concurrency_rate_limit: number | null;
      concurrency_rate_seconds: number | null;
      concurrency_rate_burst: number | null;
      paused: boolean;
      concurrency_key: string;
      holders: string[];
      waiting: number;
    };
  };
  /** Set a concurrency key's limit or rate, or pause it; null restores the queue's setting */
  'PATCH /v1/queues/{queue}/concurrency-keys/{concurrency_key}': {
    path: {
      queue: string;
      concurrency_key: string;
    };
    query: unknown;
    body: {
      concurrency_limit?: number | null;
      concurrency_rate_limit?: number | null;
      concurrency_rate_seconds?: number | null;
      concurrency_rate_burst?: number | null;
      paused?: boolean;
    };
    answer: {
      concurrency_limit: number | null;
      concurrency_rate_limit: number | null;
      concurrency_rate_seconds: number | null;
      concurrency_rate_burst: number | null;
      paused: boolean;
      concurrency_key: string;
    };
  };
  /** Reset a concurrency key: restore the queue's settings, not paused, a full bucket; holders and waiters stay */
  'DELETE /v1/queues/{queue}/concurrency-keys/{concurrency_key}': {
    path: {
      queue: string;
      concurrency_key: string;
    };
    query: unknown;
    body: undefined;
    answer: {
      reset: boolean;
    };
  };
  /** List the queues with limits, and the current state of each limit */
  'GET /v1/limits': {
    path: unknown;
    query: unknown;
    body: undefined;
    answer: {
      limits: {
        queue: string;
        max_running: number | null;
        /** Null without max_running. */
        running: number | null;
        rate_limit: number | null;
        rate_seconds: number;
        rate_burst: number | null;
        /** The level of the bucket: how many tasks may start now. Null without a rate. */
        level: number | null;
      }[];
    };
  };
  /** The current state of a queue's limits */
  'GET /v1/queues/{queue}/limits': {
    path: {
      queue: string;
    };
    query: unknown;
    body: undefined;
    answer: {
      queue: string;
      max_running: number | null;
      /** Null without max_running. */
      running: number | null;
      rate_limit: number | null;
      rate_seconds: number;
      rate_burst: number | null;
      /** The level of the bucket: how many tasks may start now. Null without a rate. */
      level: number | null;
    };
  };
  /** Refill the bucket of a queue's rate */
  'POST /v1/queues/{queue}/limits/reset': {
    path: {
      queue: string;
    };
    query: unknown;
    body: object;
    answer: {
      queue: string;
      max_running: number | null;
      /** Null without max_running. */
      running: number | null;
      rate_limit: number | null;
      rate_seconds: number;
      rate_burst: number | null;
      /** The level of the bucket: how many tasks may start now. Null without a rate. */
      level: number | null;
    };
  };
  /** Permanently cancel a queue's ready and waiting tasks, or one of the two states */
  'POST /v1/queues/{queue}/purge': {
    path: {
      queue: string;
    };
    query: unknown;
    body: {
      state?: 'ready' | 'waiting' | null;
    };
    answer: {
      ready: number;
      waiting: number;
      busy: number;
      more: boolean;
    };
  };
  /** Create a key; its secret is shown only in this answer */
  'POST /v1/keys': {
    path: unknown;
    query: unknown;
    body: {
      name: string;
      scopes: ('enqueue' | 'claim' | 'read' | 'admin')[];
      /** Default: all queues. */
      queues?: string[] | null;
      /** Default: all tenants. Allowed only with the scopes enqueue and read. */
      tenants?: string[] | null;
      expires_at?: string | null;
      expires_in_seconds?: number | null;
      rate_limit?: number | null;
      rate_seconds?: number | null;
    };
    answer: {
      prefix: string;
      name: string;
      scopes: ('enqueue' | 'claim' | 'read' | 'admin')[];
      queues: string[] | null;
      tenants: string[] | null;
      rate_limit: number | null;
      rate_seconds: number | null;
      created_at: string;
      expires_at: string | null;
      /** The key that this key replaces. */
      replaces: string | null;
      key: string;
    };
  };
  /** List all keys, without their secrets */
  'GET /v1/keys': {
    path: unknown;
    query: unknown;
    body: undefined;
    answer: {
      keys: {
        prefix: string;
        name: string;
        scopes: ('enqueue' | 'claim' | 'read' | 'admin')[];
        queues: string[] | null;
        tenants: string[] | null;
        rate_limit: number | null;
        rate_seconds: number | null;
        created_at: string;
        expires_at: string | null;
        /** The key that this key replaces. */
        replaces: string | null;
        revoked_at: string | null;
        replaced_by: string | null;
        /** Accurate to about a minute. */
        last_used_at: string | null;
        /** The number of times that the key was checked; a call may check it twice. */
        uses: number;
      }[];
    };
  };
  /** Change a key's name, expiry or rate; null removes the value */
  'PATCH /v1/keys/{prefix}': {
    path: {
      prefix: string;
    };
    query: unknown;
    body: {
      name?: string;
      expires_at?: string | null;
      expires_in_seconds?: number | null;
      rate_limit?: number | null;
      rate_seconds?: number | null;
    };
    answer: {
      prefix: string;
      name: string;
      scopes: ('enqueue' | 'claim' | 'read' | 'admin')[];
      queues: string[] | null;
      tenants: string[] | null;
      rate_limit: number | null;
      rate_seconds: number | null;
      created_at: string;
      expires_at: string | null;
      /** The key that this key replaces. */
      replaces: string | null;
      revoked_at: string | null;
      replaced_by: string | null;
      /** Accurate to about a minute. */
      last_used_at: string | null;
      /** The number of times that the key was checked; a call may check it twice. */
      uses: number;
    };
  };
  /** Revoke a key at once */
  'DELETE /v1/keys/{prefix}': {
    path: {
      prefix: string;
    };
    query: unknown;
    body: undefined;
    answer: {
      prefix: string;
      revoked: true;
    };
  };
  /** Create a key that replaces this one, which expires after overlap_seconds */
  'POST /v1/keys/{prefix}/rotate': {
    path: {
      prefix: string;
    };
    query: unknown;
    body: {
      overlap_seconds?: number;
    };
    answer: {
      prefix: string;
      name: string;
      scopes: ('enqueue' | 'claim' | 'read' | 'admin')[];
      queues: string[] | null;
      tenants: string[] | null;
      rate_limit: number | null;
      rate_seconds: number | null;
      created_at: string;
      expires_at: string | null;
      /** The key that this key replaces. */
      replaces: string | null;
      key: string;
    };
  };
  /** List administrative actions, newest first */
  'GET /v1/audit-log': {
    path: unknown;
    query: {
      key?: string;
      verb?: string;
      object?: string;
      before?: string;
      limit?: number;
    };
    body: undefined;
    answer: {
      acts: {
        number: string;
        at: string;
        /** The database role of the session. */
        role: string;
        /** The API key of the call; null for calls without a key. */
        key: string | null;
        key_name: string | null;
        verb: string;
        object: string;
        detail: Record<string, unknown>;
      }[];
    };
  };
  /** Do what is due, and return when to call again */
  'POST /v1/tick': {
    path: unknown;
    query: unknown;
    body: object;
    answer: {
      next_wake_at: string | null;
    };
  };
  /** Totals of all queues, and the time of the next due work */
  'GET /v1/stats': {
    path: unknown;
    query: unknown;
    body: undefined;
    answer: {
      queues: number;
      ready: number;
      running: number;
      waiting: number;
      dead: number;
      oldest_ready_at: string | null;
      next_wake_at: string | null;
    };
  };
  /** Activity of a queue, in points of a minute or longer */
  'GET /v1/queues/{queue}/series': {
    path: {
      queue: string;
    };
    query: {
      from?: string;
      to?: string;
      step_seconds?: number;
    };
    body: undefined;
    answer: {
      step_seconds: number;
      points: {
        at: string;
        enqueued: number;
        started: number;
        done: number;
        failed: number;
        lost: number;
        dead: number;
        ready: number | null;
        running: number | null;
        waiting: number | null;
        oldest_ready_seconds: number | null;
        wait: {
          mean: number | null;
          p50: number | null;
          p95: number | null;
          p99: number | null;
        };
        run: {
          mean: number | null;
          p50: number | null;
          p95: number | null;
          p99: number | null;
        };
      }[];
    };
  };
  /** Activity of all queues together, in points of a minute or longer */
  'GET /v1/series': {
    path: unknown;
    query: {
      from?: string;
      to?: string;
      step_seconds?: number;
    };
    body: undefined;
    answer: {
      step_seconds: number;
      points: {
        at: string;
        enqueued: number;
        started: number;
        done: number;
        failed: number;
        lost: number;
        dead: number;
        ready: number | null;
        running: number | null;
        waiting: number | null;
        oldest_ready_seconds: number | null;
        wait: {
          mean: number | null;
          p50: number | null;
          p95: number | null;
          p99: number | null;
        };
        run: {
          mean: number | null;
          p50: number | null;
          p95: number | null;
          p99: number | null;
        };
      }[];
    };
  };
  /** One row for each queue, as last collected */
  'GET /v1/overview': {
    path: unknown;
    query: unknown;
    body: undefined;
    answer: {
      queues: {
        name: string;
        paused: boolean;
        ready: number;
        running: number;
        waiting: number;
        dead: number;
        oldest_ready_at: string | null;
        collected_at: string | null;
        enqueued_per_second: number;
        started_per_second: number;
        done_per_second: number;
        failed_per_second: number;
        wait_p95: number | null;
        run_p95: number | null;
        spark: {
          ready: number[];
          done: number[];
        };
      }[];
    };
  };
  /** Metrics of every queue in OpenMetrics text, as last collected */
  'GET /metrics': {
    path: unknown;
    query: unknown;
    body: undefined;
    answer: string;
  };
  /** The state of the archive */
  'GET /v1/archive': {
    path: unknown;
    query: unknown;
    body: undefined;
    answer: {
      enabled: boolean;
      prefix: string;
      waiting: number;
      oldest_waiting_at: string | null;
      exported: number;
      files: number;
      rows: number;
      bytes: number;
      erasures_pending: number;
      objects_unwanted: number;
      last_step_at: string | null;
      failures: number;
      failed_at: string | null;
      last_error: string | null;
    };
  };
  /** Turn the archive on or off, and set the prefix of its files */
  'PUT /v1/archive': {
    path: unknown;
    query: unknown;
    body: {
      enabled?: boolean;
      prefix?: string;
    };
    answer: {
      enabled: boolean;
      prefix: string;
    };
  };
  /** End the current segment, so that the archive exports it at once */
  'POST /v1/archive/end': {
    path: unknown;
    query: unknown;
    body: undefined;
    answer: {
      segment: number;
      closed_at: string | null;
      why: string | null;
    };
  };
  /** Export the next part of what is due, and erase and delete what is pending; repeat while `more` */
  'POST /v1/archive/step': {
    path: unknown;
    query: unknown;
    body: {
      rows?: number;
    };
    answer: {
      segment: number | null;
      part: number | null;
      rows: number;
      bytes: number;
      deleted: number;
      erased: number;
      more: boolean;
    };
  };
  /** List archived tasks of a queue, newest files first, one page at a time */
  'GET /v1/archive/tasks': {
    path: unknown;
    query: {
      queue: string;
      state?: 'waiting' | 'ready' | 'running' | 'done' | 'dead' | 'cancelled' | 'expired';
      tenant?: string;
      unique_key?: string;
      worker?: string;
      error?: string;
      from?: string;
      to?: string;
      cursor?: string;
      limit?: number;
    };
    body: undefined;
    answer: {
      tasks: {
        id: string;
        run_id: string;
        queue: string;
        state: 'waiting' | 'ready' | 'running' | 'done' | 'dead' | 'cancelled' | 'expired';
        priority: number;
        tenant: string | null;
        attempt: number;
        created_at: string;
        run_at: null;
        ended_at: string | null;
        worker: string | null;
        error: string | null;
      }[];
      /** Where the next page starts; null on the last page. */
      cursor: string | null;
      scanned: number;
    };
  };
  /** List problems with hints; empty if there are none */
  'GET /v1/doctor': {
    path: unknown;
    query: unknown;
    body: undefined;
    answer: {
      findings: {
        finding: string;
        severity: string;
        detail: string | null;
        hint: string | null;
      }[];
    };
  };
  /** Whether the database answers */
  'GET /v1/health': {
    path: unknown;
    query: unknown;
    body: undefined;
    answer: {
      status: 'ok';
      database: 'reachable';
    };
  };
};

export type Route = keyof Routes;
export type Answer<R extends Route> = Routes[R]['answer'];
export type Body<R extends Route> = Routes[R]['body'];
export type Query<R extends Route> = Routes[R]['query'];
