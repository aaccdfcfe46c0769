import type pg from 'pg';
import { Failure } from '../failure.ts';
import { ask } from './ask.ts';
import type { Finding } from './door.ts';

export type Found = {
  id: string;
  queue: string;
  state: string;
  priority: number;
  tenant: string | null;
  attempt: number;
  created_at: string;
  run_at: string | null;
  ended_at: string | null;
  worker: string | null;
  error: string | null;
};
/** Instants as they were given. */
export type Filter = {
  queue?: string | undefined;
  state?: string | undefined;
  tenant?: string | undefined;
  error?: string | undefined;
  rerun?: boolean | undefined;
  worker?: string | undefined;
  from?: string | undefined;
  to?: string | undefined;
  unique_key?: string | undefined;
  gate?: string | undefined;
};
export type Page = { tasks: Found[]; cursor: string | null; looked_at: number };

export type Lease = {
  queue: string;
  worker: string | null;
  claimed_at: string;
  leased_until: string;
  late: boolean;
  runs: number;
  unfinished: number;
  tasks: string[];
};
export type LeasePage = { leases: Lease[]; cursor: string | null };

export type Duty = {
  name: string;
  every_seconds: number;
  last_ok_at: string | null;
  late_seconds: number | null;
  last_amount: number | null;
  last_seconds: number | null;
  last_error: string | null;
  failures: number;
};
export type Job = {
  jobname: string;
  schedule: string;
  active: boolean;
  last_status: string | null;
};
export type Epoch = {
  number: number;
  state: string;
  started_at: string | null;
  settled_at: string | null;
  bytes: number | null;
  runs: number | null;
};
export type Internals = { duties: Duty[]; jobs: Job[]; epochs: Epoch[] };

type Percentiles = { p50: number | null; p95: number | null; p99: number | null };
export type Point = {
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
  wait: Percentiles;
  run: Percentiles;
};
export type Series = { step_seconds: number; points: Point[] };
export type Span = {
  from?: string | undefined;
  to?: string | undefined;
  step?: number | undefined;
};

/** A queue's settings, by their names. */
export type Policy = { name: string; paused: boolean; [setting: string]: unknown };

export type Key = {
  prefix: string;
  name: string;
  scopes: string[];
  /** Null: all. */
  queues: string[] | null;
  tenants: string[] | null;
  expires_at: string | null;
};

export type Looks = {
  /** Of a key: not in SQL. */
  whoami(): Promise<Key>;
  list(filter: Filter, cursor: string | null, limit: number): Promise<Page>;
  running(
    of: { queue?: string | undefined; worker?: string | undefined },
    cursor: string | null,
    limit: number,
  ): Promise<LeasePage>;
  internals(): Promise<Internals>;
  /** When something is due again. */
  tick(): Promise<string | null>;
  why(queue: string): Promise<Finding[]>;
  /** Of one queue, or of all together. */
  series(queue: string | null, span: Span): Promise<Series>;
  /** OpenMetrics text. */
  metrics(): Promise<string>;
  /** Null when there is no such queue. */
  policy(queue: string): Promise<Policy | null>;
  /** `settings` as JSON text. */
  putPolicy(queue: string, settings: string): Promise<Policy>;
};

type Parse = (text: string) => unknown;
type Call = {
  found<T>(route: string, body?: string, parse?: Parse): Promise<T>;
  foundOrNull<T>(route: string): Promise<T | null>;
  query(options: Record<string, unknown>): string;
};

export function httpLooks({ found, foundOrNull, query }: Call): Looks {
  const at = (queue: string) => `/v1/queues/${encodeURIComponent(queue)}`;
  return {
    whoami: () => found('GET /v1/key'),
    list: (filter, cursor, limit) => found(`GET /v1/tasks?${query({ ...filter, cursor, limit })}`),
    running: (of, cursor, limit) => found(`GET /v1/leases?${query({ ...of, cursor, limit })}`),
    internals: () => found('GET /v1/duties'),
    tick: async () => (await found<{ next_wake_at: string | null }>('POST /v1/tick')).next_wake_at,
    why: async (queue) => (await found<{ reasons: Finding[] }>(`GET ${at(queue)}/why`)).reasons,
    series: (queue, { from, to, step }) =>
      found(
        `GET ${queue === null ? '/v1' : at(queue)}/series?${query({ from, to, step_seconds: step })}`,
      ),
    async metrics() {
      const whole = (text: string) => (text.endsWith('# EOF\n') ? { text } : null);
      return (await found<{ text: string }>('GET /metrics', undefined, whole)).text;
    },
    policy: (queue) => foundOrNull(`GET ${at(queue)}`),
    putPolicy: (queue, settings) => found(`PUT ${at(queue)}`, settings),
  };
}

const policyOf = "select to_jsonb(q) - array['heavy', 'push_generation'] as policy from";

export function sqlLooks(client: pg.Client): Looks {
  const one = async <T extends object>(sql: string, values: unknown[] = []) =>
    (await ask<T>(client, sql, values))[0] as T;
  const list = async <T>(verb: string) =>
    (await one<{ all: T[] }>(`select coalesce(json_agg(v), '[]') as all from tock.${verb}() v`))
      .all;
  return {
    whoami() {
      const next = 'Give --url and --key; in SQL you are the role you connect as.';
      throw new Failure('whoami is of a key, and this goes to the database.', next, 2);
    },
    list: (filter, cursor, limit) =>
      one(
        `select tasks, cursor, looked_at
         from tock.tasks(p_filter => $1, p_cursor => $2, p_limit => $3)`,
        [JSON.stringify(filter), cursor, limit],
      ),
    running: ({ queue, worker }, cursor, limit) =>
      one(
        `select leases, cursor
         from tock.running(p_queue => $1, p_worker => $2, p_cursor => $3, p_limit => $4)`,
        [queue, worker, cursor, limit],
      ),
    async internals() {
      const duties = await list<Duty>('duties_list');
      const jobs = await list<Job>('cron_jobs_list');
      return { duties, jobs, epochs: await list<Epoch>('epochs_list') };
    },
    tick: async () => (await one<{ at: string | null }>('select to_jsonb(tock.tick()) as at')).at,
    why: (queue) =>
      ask<Finding>(client, 'select finding, severity, detail, hint from tock.why(p_queue => $1)', [
        queue,
      ]),
    async series(queue, { from, to, step }) {
      const { points } = await one<{ points: (Point & { step_seconds: number })[] }>(
        `select json_agg(s order by s.at) as points
         from tock.series(p_queue => $1, p_from => $2, p_to => $3, p_step_seconds => $4) s`,
        [queue, from, to, step],
      );
      const [first] = points;
      return {
        step_seconds: first?.step_seconds ?? 60,
        points: points.map(({ step_seconds, ...point }) => point),
      };
    },
    metrics: async () => (await one<{ text: string }>('select tock.metrics() as text')).text,
    async policy(queue) {
      const sql = `${policyOf} tock.queue(p_queue => $1) q`;
      const [found] = await ask<{ policy: Policy | null }>(client, sql, [queue]);
      return found?.policy?.name ? found.policy : null;
    },
    async putPolicy(queue, settings) {
      const sql = `${policyOf} tock.put_queue(p_queue => $1, p_policy => $2) q`;
      return (await one<{ policy: Policy }>(sql, [queue, settings])).policy;
    },
  };
}
