import { withDatabase } from '../../migrate/connect.ts';
import { Failure } from '../failure.ts';
import { beneath, type GlobalOptions, way } from '../settings.ts';
import type { Archive } from './archive.ts';
import { httpDoor } from './http.ts';
import type { Keys } from './keys.ts';
import type { Leases } from './leases.ts';
import type { Looks } from './looks.ts';
import type { Pools } from './pools.ts';
import type { Push } from './push.ts';
import type { Schedules } from './schedules.ts';
import { sqlDoor } from './sql.ts';

export type Run = {
  id: string;
  queue: string;
  attempt: number;
  state: string;
  worker: string | null;
  started_at: string | null;
  ended_at: string | null;
  progress: number | null;
  note: string | null;
  error: unknown;
};

export type Task = {
  id: string;
  queue: string;
  state: string;
  attempt: number;
  max_attempts: number;
  lost: number;
  progress: number | null;
  note: string | null;
  runs: Run[];
  reruns?: { id: string; kind: string; reason: string | null; created_at: string }[];
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

/** States of a task that nothing follows. */
export const ended = ['done', 'dead', 'cancelled', 'expired'];

/** What became of a wish about a task; `state` is how it was found. */
export type Changed = { id: string; state: string; changed: boolean };

export type Hour = {
  hour: string;
  done: number;
  failed: number;
  lost: number;
  total_seconds: number;
  mean_seconds: number | null;
  partial: boolean;
};

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

export type Dead = {
  groups: { error: string | null; tasks: number; newest_at: string; newest_id: string }[];
  counted_all: boolean;
};

export type Rerun = { id: string; state: string; rerun_id: string | null; refused: string | null };

export type Redrive = {
  error?: string | undefined;
  tenant?: string | undefined;
  to_queue?: string | undefined;
  again?: boolean | undefined;
  reason?: string | undefined;
  request_id: string;
  cursor: string | null;
};

export type Redriven = { redriven: number; ids: string[]; cursor: string | null };

/** What of a queue is cancelled, or with `priority` given that one. */
export type Where = {
  state?: string | undefined;
  tenant?: string | undefined;
  priority?: number;
  cursor: string | null;
};

export type Part = { matched: number; changed: number; cursor: string | null };

export type Purged = { ready: number; waiting: number; busy: number; more: boolean };

export type Dropped = { dropped: boolean; ready: number; running: number; waiting: number };

export type Finding = { finding: string; severity: string; detail: string; hint: string | null };

export type Gate = {
  gate: string;
  paused: boolean;
  gate_limit: number;
  /** Ids of tasks. */
  inside: string[];
  waiting: number;
  [setting: string]: unknown;
};

/** One that a task comes after. */
export type Parent = { n: number; id: string; name: string | null; state: string; result: unknown };

type Work = Archive & Keys & Leases & Looks & Pools & Push & Schedules;

/** The same few verbs, over HTTP or in SQL. */
export type Door = Work & {
  /** Each task as its JSON text. */
  enqueue(queue: string, tasks: string[], requestId: string): Promise<string[]>;
  /** As it is, or up to so many seconds later when it has ended. Null when there is no such task. */
  task(id: string, waitSeconds: number): Promise<Task | null>;
  /** Up to so many, from after the n-th on; null when there is no such task. */
  parents(id: string, after: number, limit: number): Promise<Parent[] | null>;
  stats(): Promise<QueueStats[]>;
  /** Instants as they were given; null for a day ago, and for no end. */
  hours(queue: string, from: string | null, to: string | null): Promise<Hour[]>;
  /** Up to 10,000; those that nobody knows are left out. */
  cancel(ids: string[]): Promise<Changed[]>;
  /** `changes` as JSON text. Null when there is no such task; a Failure when it has ended. */
  change(id: string, changes: string): Promise<Changed | null>;
  /** How many runs were emptied; null when there is no such task. */
  erase(id: string): Promise<number | null>;
  gates(queue: string): Promise<Gate[]>;
  /** Null when there is none. */
  gate(queue: string, gate: string): Promise<Gate | null>;
  putGate(queue: string, gate: string, settings: object): Promise<void>;
  /** False when there is no such gate. */
  resetGate(queue: string, gate: string): Promise<boolean>;
  dead(queue: string, limit: number): Promise<Dead>;
  /** Up to 10,000; those that nobody knows are left out. */
  rerun(ids: string[], requestId: string, reason?: string): Promise<Rerun[]>;
  redrive(queue: string, wish: Redrive): Promise<Redriven>;
  move(ids: string[], queue: string): Promise<Changed[]>;
  changeWhere(queue: string, where: Where): Promise<Part>;
  purge(queue: string, state?: string): Promise<Purged>;
  /** Null when there is no such queue. */
  drop(queue: string, force: boolean): Promise<Dropped | null>;
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

/** Straight in where the place names the database too, as no key may be there yet; else as any. */
export async function throughDatabaseFirst<T>(
  options: GlobalOptions,
  work: (door: Door) => Promise<T>,
): Promise<T> {
  const { database } = beneath(options);
  if (!database) return throughDoor(options, work);
  return withDatabase(database, (client) => work(sqlDoor(client)));
}

/** The queue is there, as far as the key may see: for what says nothing of one whose name is mistyped. */
export async function mustHave(door: Door, queue: string): Promise<void> {
  const unseen = (error: unknown) => {
    if (error instanceof Failure && error.exitCode === 1) return true;
    throw error;
  };
  if (await door.policy(queue).catch(unseen)) return;
  throw new Failure(`There is no queue ${queue}.`, 'See: tock queue list', 3);
}
