import { withDatabase } from '../connect.ts';
import { type GlobalOptions, way } from '../settings.ts';
import { httpDoor } from './http.ts';
import { sqlDoor } from './sql.ts';

export type Run = {
  id: string;
  attempt: number;
  state: string;
  worker: string | null;
  started_at: string | null;
  ended_at: string | null;
  error: unknown;
};

export type Task = {
  id: string;
  queue: string;
  state: string;
  attempt: number;
  max_attempts: number;
  lost: number;
  runs: Run[];
  [column: string]: unknown;
};

export type QueueStats = {
  name: string;
  paused: boolean;
  ready: number;
  running: number;
  waiting: number;
  dead: number;
  oldest_ready_at: string | null;
};

/** What became of a wish about a task; `state` is how it was found. */
export type Changed = { id: string; state: string; changed: boolean };

/** How a queue stands to its limits. */
export type Limits = {
  queue: string;
  max_running: number | null;
  running: number | null;
  rate_limit: number | null;
  rate_seconds: number;
  rate_burst: number | null;
  level: number | null;
};

export type Finding = { finding: string; severity: string; detail: string; hint: string | null };

/** The same few verbs, over HTTP or in SQL. */
export type Door = {
  /** Each task as its JSON text. */
  enqueue(queue: string, tasks: string[], requestId: string): Promise<string[]>;
  /** Null when there is no such task. */
  task(id: string): Promise<Task | null>;
  stats(): Promise<QueueStats[]>;
  /** Up to 10,000; those that nobody knows are left out. */
  cancel(ids: string[]): Promise<Changed[]>;
  /** `changes` as JSON text. Null when there is no such task; a Failure when it has ended. */
  change(id: string, changes: string): Promise<Changed | null>;
  /** How many runs were emptied; null when there is no such task. */
  erase(id: string): Promise<number | null>;
  doctor(): Promise<Finding[]>;
  /** Of all queues that have limits, or of one: none when that has none. */
  limits(queue?: string): Promise<Limits[]>;
  resetLimits(queue: string): Promise<Limits[]>;
};

export async function throughDoor<T>(
  options: GlobalOptions,
  work: (door: Door) => Promise<T>,
): Promise<T> {
  const found = way(options);
  if (found.kind === 'http') return work(httpDoor(found.url, found.key));
  return withDatabase(found.url, (client) => work(sqlDoor(client)));
}
