import type pg from 'pg';
import type { TestCluster } from '../scripts/stack/test_cluster.ts';

/** An empty or prepared database of a system's own, in the one cluster that all systems share. */
export type Place = {
  /** As its owner, direct. */
  url: string;
  /** A connected client of its owner, for what is outside of the windows; another one after a restart. */
  client: pg.Client;
};

export type Shape = {
  /** Tasks a call. */
  batch: number;
  /** Bytes of JSON a payload, about; 100 unless a case says otherwise. */
  bytes: number;
  /** How many queues (or their like) the calls go round. */
  queues: number;
};

/**
 * What keeps one connection busy: a pgbench script, run with -M prepared by `clients` connections, or a
 * module run in processes of its own, where the system's client is part of the system.
 */
export type Work =
  | { by: 'pgbench'; script: string }
  | { by: 'node'; module: string; options: Record<string, unknown> };

/**
 * Something at work: once ready it warms up, called to meet it waits, let go it works until it is told to
 * stop. Whatever goes wrong rejects all of it.
 */
export type Worker = {
  ready: Promise<void>;
  over: Promise<void>;
  meet(): Promise<void>;
  go(): Promise<void>;
  stop(): Promise<void>;
  /** Ends what is left of it. */
  close(): Promise<void>;
};

/** What is at work in one place, side by side. */
export type Side = { place: Place; system: System; works: { work: Work; clients: number }[] };

/** What a database has of tasks at one moment. */
export type Counts = { enqueued: number; finished: number };

export type System = {
  name: string;
  version: string;
  /** How it is set up and called, a sentence each; printed with the results. */
  settings: string[];
  /** What it leaves out beside Tock, like `no lease`; printed with the results. */
  lacks: string[];
  prepare(place: Place): Promise<void>;
  /** Adds tasks that are ready, as its own enqueue spreads them; outside of windows. */
  fill(place: Place, tasks: number, shape: Shape): Promise<void>;
  /** Null where the system has no such call. */
  enqueue(shape: Shape): Work | null;
  /** Claims, has every payload sent to the client, and completes. */
  cycle(shape: Shape): Work | null;
  counts(place: Place): Promise<Counts>;
  /** What settle runs in its database; `vacuum analyze` unless it is said. */
  upkeep?: string;
  /** What the design wants run every so many seconds; done while its windows are open. */
  maintenance_job?: { sql: string; every: number };
  /** Throws when the database isn't as enqueues and cycles alone must have left it. */
  check?(place: Place): Promise<void>;
  /** What has to stay ready for a call to find all that it asks for; nothing unless it is said. */
  least?(shape: Shape): number;
};

/** One figure of one system in one case; null where it was not measured, `note` says why. */
export type Figure = { value: number | null; windows: number[]; note?: string };

export type Case = {
  /** The group that gave it. */
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

/** What one window came to. */
export type Measured = {
  seconds: number;
  enqueued: number;
  finished: number;
  walBytes: number;
  /** Of PostgreSQL's processes, user and system. */
  cpuSeconds: number;
};

/** What a group of cases gets. Everything in one run goes through it. */
export type Run = {
  quick: boolean;
  /** Of a window, without the warm-up before it. */
  seconds: number;
  rounds: number;
  clients: number;
  /** Whether a case was asked for, by its name or its group's; only groups with `cases` need to ask. */
  wants(name: string): boolean;
  /** All that were asked for: Tock, the peers; the floor apart. */
  systems: System[];
  floor: System;
  /** A fresh database of the system's own, prepared. */
  open(system: System): Promise<Place>;
  close(place: Place): Promise<void>;
  /** Vacuums, analyzes and checkpoints. */
  settle(place: Place): Promise<void>;
  /** Runs work for a while; measures nothing. */
  load(place: Place, work: Work, options: { seconds: number }): Promise<void>;
  /**
   * One window for works side by side, all warm and let go at once; seconds go by on one clock, WAL and
   * CPU are the cluster's. An error when consumers of a side ran dry.
   */
  together(sides: Side[], seconds?: number): Promise<Measured[]>;
  /** The same of one side. */
  measure(place: Place, system: System, works: Side['works'], seconds?: number): Promise<Measured>;
  /** Each entry once a round, in turning order; medians. */
  interleave(
    entries: { name: string; window(): Promise<number | null> }[],
  ): Promise<Record<string, Figure>>;
  /** Changes settings of the cluster, restarting it where they need that; returns a way back. */
  configure(settings: Record<string, string>): Promise<() => Promise<void>>;
  /** The cluster with its host, passwords and, by pool(), its PgBouncer. */
  stack: TestCluster;
  /** Where PostgreSQL's programs are, and the cluster's superuser URL. */
  bin: string;
  superUrl(database?: string): string;
  say(text: string): void;
};

/**
 * `name` is what --only picks, and the names in `cases` where it says them and asks run.wants(); a group
 * gives one or more cases of the result.
 */
export type Group = {
  name: string;
  cases?: string[];
  /** Whether a quick run leaves it out unless it is asked for. */
  slow?: boolean;
  run(run: Run): Promise<Case[]>;
};
