export type Bindings = {
  /** postgres://… of a transaction pooler or of Neon, as the role tock_edge; a secret. */
  DATABASE_URL?: string;
  /** pg, neon-http or neon-ws; by default neon-http for a host in neon.tech, pg for any other. */
  TOCK_DRIVER?: string;
  /** https://host[:port] of a proxy that speaks Neon's protocols, for a Neon of one's own. */
  TOCK_NEON_PROXY?: string;
  /** Origins whose pages may call from a browser, by commas; none without it. */
  TOCK_ORIGINS?: string;
  /** Comes before all of them. */
  HYPERDRIVE?: { connectionString: string };
  /** As DATABASE_URL and HYPERDRIVE, for the calls on leases: another pool, which a flood of enqueues can't fill. */
  DATABASE_URL_ENDS?: string;
  HYPERDRIVE_ENDS?: { connectionString: string };
  /** How many enqueues, claims and other calls an isolate has under way, of each; 300 by default. */
  TOCK_MOST_AT_ONCE?: string;
  /** What the secrets of queues with push are made of; several, newest first, by spaces. Without it nothing is pushed. */
  TOCK_PUSH_SECRET?: string;
  /** allow: push to http:// and to private addresses too, for work on one's own machine. */
  TOCK_PUSH_PRIVATE?: string;
  /** Which traces tasks keep of the requests that enqueue them: sampled, unless it is all or off. */
  TOCK_TRACE?: string;
  /** The Durable Object that holds when something is next due; see alarm/alarm.ts. */
  ALARM?: AlarmNamespace;
  /** The R2 bucket of the archive. */
  ARCHIVE?: Bucket;
  /** `manual`: only where it is turned on by hand. */
  TOCK_ARCHIVE?: string;
  /** Where the archive lies in a store that speaks S3: https://host/bucket[/folder]; with its key, and its region (auto). */
  TOCK_ARCHIVE_URL?: string;
  TOCK_ARCHIVE_KEY_ID?: string;
  TOCK_ARCHIVE_SECRET?: string;
  TOCK_ARCHIVE_REGION?: string;
};

/** What of a Durable Object's namespace is needed. */
export type AlarmNamespace = {
  idFromName(name: string): unknown;
  get(id: never): { fetch(url: string, init?: RequestInit): Promise<Response> };
};

type R2Object = { arrayBuffer(): Promise<ArrayBuffer> };

/** What of an R2 bucket is needed. */
export type Bucket = {
  put(key: string, bytes: Uint8Array, options: { sha256: string }): Promise<unknown>;
  get(
    key: string,
    options?: { range: { offset: number; length: number } },
  ): Promise<R2Object | null>;
  delete(key: string): Promise<void>;
};
