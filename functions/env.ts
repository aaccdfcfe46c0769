export type Bindings = {
  /** postgres://… of a transaction pooler or of Neon, with the role tock_edge; a secret. */
  DATABASE_URL?: string;
  /** pg, neon-http or neon-ws. Default: neon-http for a host in neon.tech, else pg. */
  TOCK_DRIVER?: string;
  /** https://host[:port] of a proxy with Neon's protocols, for a self-hosted Neon. */
  TOCK_NEON_PROXY?: string;
  /** Origins whose pages may call from a browser, separated by commas. Default: none. */
  TOCK_ORIGINS?: string;
  /** Takes precedence over the settings above. */
  HYPERDRIVE?: { connectionString: string };
  /** Like DATABASE_URL and HYPERDRIVE, for calls on leases: a separate pool that enqueues cannot exhaust. */
  DATABASE_URL_ENDS?: string;
  HYPERDRIVE_ENDS?: { connectionString: string };
  /** Several databases, each a node: 1=postgres://…,2=postgres://…; or ask, if DATABASE_URL sends calls on to the nodes. */
  TOCK_NODES?: string;
  /** Maximum number of concurrent calls of an isolate, for each kind: enqueues, claims, others. Default: 300. */
  TOCK_MOST_AT_ONCE?: string;
  /** The longest time between two looks of waiting calls at an idle queue. Default: 600 with ALARM, 1 in one process. */
  TOCK_IDLE_POLL_SECONDS?: string;
  /** `1`: this process serves all calls, so that its calls wake its waiting calls. */
  TOCK_ONE_PROCESS?: string;
  /** The master secrets of queues with push, newest first, separated by spaces. Without it nothing is pushed. */
  TOCK_PUSH_SECRET?: string;
  /** `allow`: pushes may go to http:// and to private addresses, for local development. */
  TOCK_PUSH_PRIVATE?: string;
  /** The name of this installation, such as production: the dashboard shows it. */
  TOCK_NAME?: string;
  /** The public address of this Worker, for the links that waitFor.url of a consumer makes. */
  TOCK_URL?: string;
  /** Which traces of enqueuing requests tasks keep: sampled (default), all or off. */
  TOCK_TRACE?: string;
  /** Other services whose clients the Worker answers, separated by commas: cloudflare, sqs, qstash. Default: none. */
  TOCK_COMPAT?: string;
  /** Links from a task in the dashboard to your logs or traces, as JSON: see docs/operating/dashboard.md. Default: none. */
  TOCK_TASK_LINKS?: string;
  /** The dashboards of your other installations, as JSON: see docs/operating/dashboard.md. Default: none. */
  TOCK_INSTALLATIONS?: string;
  /** Names of fields whose values the dashboard hides, separated by commas. Default: none. */
  TOCK_HIDDEN_FIELDS?: string;
  /** The Durable Object that knows when the next work is due; see alarm/alarm.ts. */
  ALARM?: AlarmNamespace;
  /** The R2 bucket of the archive. */
  ARCHIVE?: Bucket;
  /** `manual`: only an operator turns the archive on. Default: the Worker does, if a store is configured. */
  TOCK_ARCHIVE?: string;
  /** The archive's bucket in an S3-compatible store: https://host/bucket[/folder]. */
  TOCK_ARCHIVE_URL?: string;
  TOCK_ARCHIVE_KEY_ID?: string;
  TOCK_ARCHIVE_SECRET?: string;
  /** Default: auto. */
  TOCK_ARCHIVE_REGION?: string;
};

/** The part of a Durable Object namespace that the Worker uses. */
export type AlarmNamespace = {
  idFromName(name: string): unknown;
  get(id: never): { fetch(url: string, init?: RequestInit): Promise<Response> };
};

type R2Object = { arrayBuffer(): Promise<ArrayBuffer> };

/** The part of an R2 bucket that the archive uses. */
export type Bucket = {
  put(key: string, bytes: Uint8Array, options: { sha256: string }): Promise<unknown>;
  get(
    key: string,
    options?: { range: { offset: number; length: number } },
  ): Promise<R2Object | null>;
  delete(key: string): Promise<void>;
};
