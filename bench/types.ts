import type pg from 'pg';
import type { TestCluster } from '../scripts/stack/test_cluster.ts';

/** An empty or prepared database of one system, in the cluster that all systems share. */
export type TestDatabase = {
  /** As its owner, directly. */
  url: string;
  /** A connected client of its owner, for use outside windows; replaced after a restart. */
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
 * The work of one connection: a pgbench script, run with -M prepared by `clients` connections, or a module in its own
 * processes, if the system's client is part of the system.
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
  /** Ends the rest of it. */
  close(): Promise<void>;
};

/** The work in one database, side by side. */
export type Side = {
  database: TestDatabase;
  system: System;
  works: { work: Work; clients: number }[];
};

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
  /** Adds ready tasks, distributed as its own enqueue does; outside windows. */
  fill(database: TestDatabase, tasks: number, shape: Shape): Promise<void>;
  /** Null if the system has no such call. */
  enqueue(shape: Shape): Work | null;
  /** Claims, has every payload sent to the client, and completes. */
  cycle(shape: Shape): Work | null;
  counts(database: TestDatabase): Promise<Counts>;
  /** What settle runs in its database; default `vacuum analyze`. */
  upkeep?: string;
  /** SQL that the design needs every so many seconds, run while its windows are open. */
  maintenance?: { sql: string; every: number };
  /** Throws if the database is not in the state that enqueues and cycles alone produce. */
  check?(database: TestDatabase): Promise<void>;
  /** The number of tasks that must stay ready for a call to find all it asks for; default none. */
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
  /** Of PostgreSQL's processes, user and system. */
  cpuSeconds: number;
};

/** The interface for a group of cases. All work of a run uses it. */
export type Run = {
  quick: boolean;
  /** Of a window, without its warm-up. */
  seconds: number;
  rounds: number;
  clients: number;
  /** Whether a case was selected, by its name or its group's; only groups with `cases` need to ask. */
  wants(name: string): boolean;
  /** All selected systems: Tock and the peers, without the floor. */
  systems: System[];
  floor: System;
  /** Creates and prepares a database for the system. */
  open(system: System): Promise<TestDatabase>;
  close(database: TestDatabase): Promise<void>;
  /** Vacuums, analyzes and checkpoints. */
  settle(database: TestDatabase): Promise<void>;
  /** Runs work for a while without measuring. */
  load(database: TestDatabase, work: Work, options: { seconds: number }): Promise<void>;
  /**
   * One window for works side by side, all warmed up and released at once. Time is from one clock; WAL and CPU are the
   * cluster's. Throws if the consumers of a side ran out of tasks.
   */
  together(sides: Side[], seconds?: number): Promise<Measured[]>;
  /** The same for one side. */
  measure(
    database: TestDatabase,
    system: System,
    works: Side['works'],
    seconds?: number,
  ): Promise<Measured>;
  /** Each entry once per round, in rotating order; medians. */
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
 * --only selects by `name`, and by the names in `cases` if a group lists them and asks run.wants(). A group produces
 * one or more cases of the result.
 */
export type Group = {
  name: string;
  cases?: string[];
  /** Whether a quick run leaves it out unless it is selected. */
  slow?: boolean;
  run(run: Run): Promise<Case[]>;
};
