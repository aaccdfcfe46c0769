import type pg from 'pg';
import type { TestCluster } from '../scripts/stack/test_cluster.ts';

/** An empty or prepared database of one system, in the cluster that all systems share. */
export type TestDatabase = {
  /** The URL of its owner, without a pooler. */
  url: string;
  /** A connected client of its owner, for use outside windows. It is replaced after a restart. */
  client: pg.Client;
};

export type Shape = {
  /** Tasks per call. */
  batch: number;
  /** Approximate bytes of JSON per payload; default 100. */
  bytes: number;
  /** The number of queues (or equivalents) that the calls cycle through. */
  queues: number;
};

/**
 * The work of each connection: a pgbench script, run with -M prepared, or a module that runs in processes of its own,
 * for systems whose client is a part of the system.
 */
export type Work =
  | { by: 'pgbench'; script: string }
  | { by: 'node'; module: string; options: Record<string, unknown> };

/**
 * A running worker. It warms up when ready, waits when called, works when released, and stops when told. Any error
 * rejects all its promises.
 */
export type Worker = {
  ready: Promise<void>;
  over: Promise<void>;
  meet(): Promise<void>;
  go(): Promise<void>;
  stop(): Promise<void>;
  /** Ends all processes that are left. */
  close(): Promise<void>;
};

/** Works that run at the same time in one database. */
export type Side = {
  database: TestDatabase;
  system: System;
  works: { work: Work; clients: number }[];
};

export type FlowBy = 'sql' | 'client';

/** The number of tasks in a database at one moment. */
export type Counts = { enqueued: number; finished: number };

export type System = {
  name: string;
  version: string;
  /** How the system is set up and called, one sentence each; printed with the results. */
  settings: string[];
  /** What it lacks compared with Tock, like `no lease`; printed with the results. */
  lacks: string[];
  prepare(database: TestDatabase): Promise<void>;
  /** Adds ready tasks outside windows, distributed as the system's own enqueue does. */
  fill(database: TestDatabase, tasks: number, shape: Shape): Promise<void>;
  /** Null if the system has no such call. */
  enqueue(shape: Shape): Work | null;
  /** Claims tasks, so that the client receives every payload, and completes them. Null if there is no such call. */
  cycle(shape: Shape): Work | null;
  counts(database: TestDatabase): Promise<Counts>;
  /**
   * Claims a task, saves so many steps of it one by one, and completes it: in SQL alone, or as the system's own client
   * does. Null if there is no such call, absent if the system has no steps.
   */
  flow?(steps: number, by: FlowBy): Work | null;
  /** The statement that settle() runs in the system's database. Default: `vacuum analyze`. */
  upkeep?: string;
  /** A statement that the system needs every `every` seconds. It runs during windows too. */
  maintenance?: { sql: string; every: number };
  /** Throws if the database is not in the state that enqueues and cycles alone produce. */
  check?(database: TestDatabase): Promise<void>;
  /** The number of tasks that must stay ready, so that a call finds as many as it wants. Default: 0. */
  least?(shape: Shape): number;
};

/** One figure of one system in one case; null if it was not measured, with the reason in `note`. */
export type Figure = { value: number | null; windows: number[]; note?: string };

export type Case = {
  /** The group of the case. */
  group?: string;
  name: string;
  unit: string;
  tock: number | null;
  floor: number | null;
  peers: Record<string, number | null>;
  note: string;
  /** Each system's windows, in order. */
  windows?: Record<string, number[]>;
};

/** The result of one window. */
export type Measured = {
  seconds: number;
  enqueued: number;
  finished: number;
  walBytes: number;
  /** CPU seconds of PostgreSQL's processes, user and system. */
  cpuSeconds: number;
};

/** A run, as a group of cases uses it. */
export type Run = {
  quick: boolean;
  /** Seconds of a window, without its warm-up. */
  seconds: number;
  rounds: number;
  clients: number;
  /** True if a case was selected, by its name or its group's name. Only groups with `cases` need to ask. */
  wants(name: string): boolean;
  /** All selected systems: Tock and the peers, without the floor. */
  systems: System[];
  floor: System;
  /** Creates and prepares a database for the system. */
  open(system: System): Promise<TestDatabase>;
  close(database: TestDatabase): Promise<void>;
  /** Runs at the end of the group, also after an error or a signal. */
  defer(cleanUp: () => Promise<void>): void;
  /** Vacuums, analyzes and checkpoints. */
  settle(database: TestDatabase): Promise<void>;
  /** Runs work for a while without measuring. */
  load(database: TestDatabase, work: Work, options: { seconds: number }): Promise<void>;
  /**
   * Runs one window with works side by side, which are warmed up and start at the same moment. Their WAL and CPU time
   * are those of the whole cluster. Throws if a side ran out of tasks.
   */
  together(sides: Side[], seconds?: number, warmUp?: number): Promise<Measured[]>;
  /** Like together(), for one side. */
  measure(
    database: TestDatabase,
    system: System,
    works: Side['works'],
    seconds?: number,
  ): Promise<Measured>;
  /** Runs each entry once per round, in rotating order. Returns the medians. */
  interleave(
    entries: { name: string; window(): Promise<number | null> }[],
  ): Promise<Record<string, Figure>>;
  /** Changes settings of the cluster, and restarts it if they need that; returns a function that restores them. */
  configure(settings: Record<string, string>): Promise<() => Promise<void>>;
  /** The cluster with its host, passwords and, by pool(), its PgBouncer. */
  stack: TestCluster;
  /** The paths of PostgreSQL's programs, and the cluster's superuser URL. */
  bin: string;
  superUrl(database?: string): string;
  say(text: string): void;
};

/**
 * A group produces one or more cases of the result. --only selects groups by `name`, and cases by the names in `cases`,
 * if the group lists them and asks run.wants().
 */
export type Group = {
  name: string;
  cases?: string[];
  /** True if a quick run leaves the group out, unless it is selected. */
  slow?: boolean;
  run(run: Run): Promise<Case[]>;
};
