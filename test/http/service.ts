import type pg from 'pg';
import { connect as open } from '../../functions/database/connect.ts';
import type { Connect } from '../../functions/database/types.ts';
import type { Bindings } from '../../functions/env.ts';
import { createApp } from '../../functions/http/app.ts';
import { type Database, freshDatabase } from '../database.ts';

export type Scope = 'enqueue' | 'claim' | 'read' | 'admin';

export const allScopes: Scope[] = ['enqueue', 'claim', 'read', 'admin'];

export type Reply = {
  status: number;
  headers: Headers;
  text: string;
  // biome-ignore lint/suspicious/noExplicitAny: a test looks at whatever came
  body: any;
};

export type Send = {
  body?: unknown;
  /** If set, it is sent unchanged instead of `body`. */
  raw?: BodyInit;
  key?: string | null;
  headers?: Record<string, string>;
  signal?: AbortSignal;
};

export type Service = {
  database: Database;
  /** A client with the role of the owner, for set-up and checks. */
  owner: pg.Client;
  key: string;
  makeKey(scopes: Scope[], queues?: string[] | null): Promise<string>;
  /** Sends a request, such as `POST /v1/…`, to the app in this process. */
  send(route: string, options?: Send): Promise<Reply>;
  /** The statements that were sent to the database so far. */
  statements: { text: string }[];
  /** The next statement that contains these words is executed, but its answer is lost. */
  loseAnswer(words: string): void;
  connect: Connect;
};

/** Starts the app on a new database, with the role tock_edge, through PgBouncer if the run has one. */
export async function service(bindings: Bindings = {}): Promise<Service> {
  const database = await freshDatabase();
  const owner = await database.connect();
  const statements: Service['statements'] = [];
  let lost: string | null = null;
  const connect: Connect = (_env, use) =>
    open({ DATABASE_URL: database.poolUrl ?? database.edgeUrl }, (query) =>
      use(async (text, values) => {
        statements.push({ text });
        const result = await query(text, values);
        if (lost === null || !text.includes(lost)) return result;
        lost = null;
        throw Object.assign(new Error('the connection broke'), { code: 'ECONNRESET' });
      }),
    );
  const app = createApp(connect);

  async function makeKey(scopes: Scope[], queues: string[] | null = null): Promise<string> {
    const { rows } = await owner.query(
      'select key from tock.create_key(p_name => $1, p_scopes => $2, p_queues => $3)',
      ['test', scopes, queues],
    );
    return rows[0].key;
  }

  const key = await makeKey(allScopes);

  async function send(route: string, options: Send = {}): Promise<Reply> {
    const [method = 'GET', path = '/'] = route.split(' ');
    const content =
      options.raw ?? (options.body === undefined ? null : JSON.stringify(options.body));
    const headers = new Headers(options.headers);
    if (content !== null && !headers.has('content-type')) {
      headers.set('content-type', 'application/json');
    }
    if (options.key !== null) headers.set('authorization', `Bearer ${options.key ?? key}`);
    const { signal = null } = options;
    const response = await app.request(path, { method, headers, body: content, signal }, bindings);
    const text = await response.text();
    const json = response.headers.get('content-type')?.includes('json');
    return {
      status: response.status,
      headers: response.headers,
      text,
      body: json ? JSON.parse(text) : undefined,
    };
  }

  const loseAnswer = (words: string) => {
    lost = words;
  };
  return { database, owner, key, makeKey, send, statements, loseAnswer, connect };
}

/** The number of rows in each of Tock's tables. A refused request must not change them. */
export async function rowCounts(owner: pg.Client): Promise<Record<string, number>> {
  const { rows } = await owner.query(`
    select c.relname as name, (xpath('/row/n/text()', query_to_xml(
      format('select count(*) as n from tock.%I', c.relname), false, true, '')))[1]::text::int as n
    from pg_class c where c.relnamespace = 'tock'::regnamespace and c.relkind in ('r', 'p')
      and not c.relispartition
    order by c.relname`);
  return Object.fromEntries(rows.map(({ name, n }) => [name, n]));
}
