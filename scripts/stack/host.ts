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
  /** True if its PostgreSQL has pg_cron. */
  cron: boolean;
  /** The folder of PostgreSQL's programs. */
  bin: string;
  /** The path of PgBouncer's program; null if there is none. */
  pgbouncer: string | null;
  /** The folder with the cluster and PgBouncer's files, which belongs to the database user. */
  folder: string;
  /** The address on which servers listen inside the host. From outside their address is always 127.0.0.1. */
  listen: string;
  /** True if its processes run on this machine, so that their pids are valid here. */
  local: boolean;
  /** Aborts when the caller gives up. Then commands end, and no new ones start. */
  signal?: AbortSignal;
  /** Runs a command as the database user and returns its output. */
  run(argv: string[]): Promise<string>;
  /** Starts a program as the database user. It gets the signal `orphaned` if this process dies without stopping it. */
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
  /** True if the data must survive the host's end. */
  kept: boolean;
  /** The version of PostgreSQL; default: the machine's own, or 17 in Docker. */
  postgres?: number;
};
