import type { StepReporter } from './step_reporter.ts';

/** A process that a host keeps running; `pid` is its number inside the host. */
export type Daemon = {
  pid: number;
  /** Resolves when it has ended, for any reason. */
  ended: Promise<void>;
  signal(name: NodeJS.Signals): Promise<void>;
};

/** Where PostgreSQL and PgBouncer run: this machine, a folder of it, or a container. Paths are those of the host. */
export type Host = {
  /** The origin of its PostgreSQL, like `from the system's packages`. */
  origin: string;
  major: number;
  /** Whether its PostgreSQL has pg_cron. */
  cron: boolean;
  /** The folder of PostgreSQL's programs. */
  bin: string;
  /** Null if there is none. */
  pgbouncer: string | null;
  /** The folder of the database user, with the cluster and PgBouncer's files. */
  folder: string;
  /** The address to listen on inside the host. From outside it is always 127.0.0.1. */
  listen: string;
  /** Whether its processes are this machine's, so that their pids are valid here. */
  local: boolean;
  /** Aborted when the caller gives up; commands then end, and no new ones start. */
  signal?: AbortSignal;
  /** Runs a command as the database user and returns its output. */
  run(argv: string[]): Promise<string>;
  /** Starts a program as the database user; it gets the signal `orphaned` if this process dies without stopping it. */
  start(argv: string[], options: { log: string; orphaned: NodeJS.Signals }): Promise<Daemon>;
  /** The end of a daemon's log. */
  logged(log: string): Promise<string>;
  read(path: string): Promise<string | null>;
  /** Writes a file that only the database user may read. */
  write(path: string, text: string): Promise<void>;
  remove(path: string): Promise<void>;
  /** Ends the processes that an earlier run left in a folder (a data folder's postmaster and its children). */
  clear(folder: string): Promise<void>;
  /** kill -9 of a process and its children, all at once. */
  kill9(pid: number): Promise<void>;
  /** Ends the host itself, if it is not this machine. */
  close?(): Promise<void>;
};

export type HostOptions = {
  /** The folder's name in `.tock`, and the volume's in Docker. */
  name: string;
  /** The ports that a container must publish. */
  ports: number[];
  reporter: StepReporter;
  signal?: AbortSignal;
  /** Whether data outlives the host. */
  kept: boolean;
  /** The version of PostgreSQL; default: the machine's own, or 17 in Docker. */
  postgres?: number;
};
