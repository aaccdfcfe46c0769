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

/** The same few verbs, over HTTP or in SQL. */
export type Door = {
  /** Each task as its JSON text. */
  enqueue(queue: string, tasks: string[], requestId: string): Promise<string[]>;
  /** Null when there is no such task. */
  task(id: string): Promise<Task | null>;
  stats(): Promise<QueueStats[]>;
};

export async function throughDoor<T>(
  options: GlobalOptions,
  work: (door: Door) => Promise<T>,
): Promise<T> {
  const found = way(options);
  if (found.kind === 'http') return work(httpDoor(found.url, found.key));
  return withDatabase(found.url, (client) => work(sqlDoor(client)));
}
