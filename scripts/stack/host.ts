import type { Say } from './say.ts';

/** A process that a host keeps running; `pid` is as seen from inside the host. */
export type Daemon = {
  pid: number;
  /** Resolves when it has ended, by itself or not. */
  ended: Promise<void>;
  signal(name: NodeJS.Signals): Promise<void>;
};

/**
 * Where PostgreSQL and PgBouncer run: this machine, a folder of it, or a container. Paths are the
 * host's own.
 */
export type Host = {
  /** Where its PostgreSQL comes from, like `from the system's packages`. */
  origin: string;
  major: number;
  /** Whether its PostgreSQL has pg_cron. */
  cron: boolean;
  /** The folder of PostgreSQL's programs. */
  bin: string;
  /** Null where there is none. */
  pgbouncer: string | null;
  /** The folder that the database user owns: holds the cluster and PgBouncer's files. */
  folder: string;
  /** Address to listen on, as seen from inside the host. Outside it is always 127.0.0.1. */
  listen: string;
  /** Whether its processes are this machine's, so that their pids mean something here. */
  local: boolean;
  /** Aborted when whoever wanted the host gives up; commands then end and nothing more starts. */
  signal?: AbortSignal;
  /** Runs a command as the database user and returns its output. */
  run(argv: string[]): Promise<string>;
  /** Starts a program as the database user; if we die without stopping it, it gets `orphaned`. */
  start(argv: string[], options: { log: string; orphaned: NodeJS.Signals }): Promise<Daemon>;
  /** The end of a daemon's log. */
  logged(log: string): Promise<string>;
  read(path: string): Promise<string | null>;
  /** Writes a file only the database user may read. */
  write(path: string, text: string): Promise<void>;
  remove(path: string): Promise<void>;
  /** Ends whatever an earlier run left at work in a folder (a data folder's postmaster and children). */
  clear(folder: string): Promise<void>;
  /** kill -9 of a process and its children, all at once. */
  kill9(pid: number): Promise<void>;
  /** Ends the host itself, where it is more than this machine. */
  close?(): Promise<void>;
};

export type HostOptions = {
  /** The folder's name in `.tock`, and the volume's in Docker. */
  name: string;
  /** The ports that a container must let through. */
  ports: number[];
  say: Say;
  signal?: AbortSignal;
  /** Whether data outlives the host. */
  kept: boolean;
  /** The version of PostgreSQL; the machine's own, or in Docker 17, unless it is said. */
  postgres?: number;
};
