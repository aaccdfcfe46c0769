import type pg from 'pg';
import { connect as open } from '../../functions/database/connect.ts';
import type { Connect } from '../../functions/database/types.ts';
import type { Bindings } from '../../functions/env.ts';
import { createApp } from '../../functions/http/app.ts';
import { type Database, freshDatabase } from '../database.ts';
import type { Reply } from '../http/service.ts';
import { putDirectory } from '../sql/features/nodes/directory.ts';

/** What `tock nodes init` gives a node beside owner() and this_node(), and what tock_edge may use of it. */
const routerSql = `
create or replace function tock_nodes.ask(p_key text, p_statement text, p_values text[] default '{}')
returns setof text language plpgsql volatile
as $$ begin return query execute format(p_statement, variadic p_values); end $$;

create or replace function tock_nodes.copy_key(p_key jsonb, p_overlap_seconds integer default null)
returns boolean language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
  v_row tock.keys := jsonb_populate_record(null::tock.keys, p_key);
begin
  insert into tock.keys (prefix, hash, name, scopes, queues, tenants, created_at, expires_at, lifetime, rate_limit,
    rate_seconds, replaces)
  values (v_row.prefix, sha256((p_key ->> 'key')::bytea), v_row.name, v_row.scopes, v_row.queues, v_row.tenants,
    v_row.created_at, v_row.expires_at, v_row.expires_at - v_row.created_at, v_row.rate_limit, v_row.rate_seconds,
    v_row.replaces)
  on conflict (prefix) do nothing;
  insert into tock.key_uses (prefix) values (v_row.prefix) on conflict do nothing;
  perform tock.make_key_counters(v_row.prefix, v_row.rate_limit is not null);
  update tock.keys k set expires_at = least(k.expires_at, clock_timestamp() + p_overlap_seconds * interval '1 second')
  where k.prefix = v_row.replaces;
  perform tock.write_audit_log('copy_key', v_row.prefix);
  return true;
end $$;

grant usage on schema tock_nodes to tock_edge;
grant select on all tables in schema tock_nodes to tock_edge;
grant execute on all functions in schema tock_nodes to tock_edge`;

export type Node = { database: Database; owner: pg.Client };

export type Cluster = {
  /** Nodes 1 and 2. */
  nodes: Map<number, Node>;
  key: string;
  /** Sends a request to the app, with all nodes, or as if these were down. */
  send(route: string, body?: unknown, options?: SendOptions): Promise<Reply>;
  /** Sends any request to the app. */
  request(path: string, init: RequestInit, down?: readonly number[]): Promise<Response>;
  /** The statements since the last call, each with its node. */
  sent(): { node: number; text: string }[];
  /** The bindings of a Worker for both nodes. */
  bindings(down?: readonly number[]): Bindings;
  connect: Connect;
  /** Gives a queue to another node, in the directory of both. The old node drops it. */
  move(queue: string, to: number): Promise<void>;
  /** Does what `tock nodes move` does before the directory changes: records that a queue leaves node 1. */
  recordMove(queue: string): Promise<void>;
  /** Gives a queue of node 1, with its tasks there, to node 2. */
  flip(queue: string): Promise<void>;
  /** The rows of a statement of the owner of a node. */
  // biome-ignore lint/suspicious/noExplicitAny: a test knows its rows
  rows(node: number, sql: string, values?: unknown[]): Promise<any[]>;
  drop(): Promise<void>;
};

export type SendOptions = {
  down?: readonly number[];
  key?: string | null;
  headers?: Record<string, string>;
};

async function openNode(node: number, owners: Record<string, number>): Promise<Node> {
  const database = await freshDatabase();
  const owner = await database.connect();
  await owner.query('select tock.found_range($1)', [node]);
  await putDirectory(owner, node, owners);
  await owner.query(routerSql);
  return { database, owner };
}

/** Two databases, each with the directory of both. `ask`: the app reaches node 2 by way of node 1. */
export async function cluster(
  owners: Record<string, number>,
  { ask = false, more = {} }: { ask?: boolean; more?: Bindings } = {},
): Promise<Cluster> {
  const all = { ':1': 1, ':2': 2, ...owners };
  const nodes = new Map<number, Node>();
  for (const node of [1, 2]) nodes.set(node, await openNode(node, all));
  const at = (node: number) => nodes.get(node) as Node;
  const urlOf = ({ database }: Node) => database.poolUrl ?? database.edgeUrl;
  const urls = new Map([...nodes].map(([node, it]) => [node, urlOf(it)]));
  let statements: { node: number; text: string }[] = [];

  const connect: Connect = (env, use) =>
    open(env, (query, most) =>
      use(async (text, values) => {
        const node = [...urls].find(([, url]) => url === env.DATABASE_URL)?.[0] ?? 0;
        statements.push({ node, text });
        // Citus runs the function on the node that owns the key. Two plain databases need somebody who does.
        const [key] = (values ?? []) as string[];
        const { rows } = text.includes('tock_nodes.ask(')
          ? await at(1).owner.query('select tock_nodes.owner($1) as owner', [key])
          : { rows: [] };
        const owner = rows[0]?.owner ?? node;
        if (owner === node || node === 0) return query(text, values);
        return open({ DATABASE_URL: urls.get(owner) as string }, (ask) => ask(text, values));
      }, most),
    );

  const bindings = (down: readonly number[] = []): Bindings => {
    // Nothing listens on port 1.
    const addressOf = (node: number) =>
      down.includes(node) ? 'postgres://tock_edge@127.0.0.1:1/none' : urls.get(node);
    if (ask) return { ...more, TOCK_NODES: 'ask', DATABASE_URL: addressOf(1) as string };
    return { ...more, TOCK_NODES: [1, 2].map((node) => `${node}=${addressOf(node)}`).join(',') };
  };

  const app = createApp(connect);
  const made = await at(1).owner.query(
    "select to_jsonb(k) as made, k.key from tock.create_key('test', '{enqueue,claim,read,admin}') as k",
  );
  await at(2).owner.query('select tock_nodes.copy_key($1)', [made.rows[0].made]);
  const { key } = made.rows[0];

  return {
    nodes,
    key,
    async send(route, body, { down = [], key: own = key, headers: others = {} } = {}) {
      const [method = 'GET', path = '/'] = route.split(' ');
      const headers = new Headers(others);
      if (own !== null) headers.set('authorization', `Bearer ${own}`);
      if (body !== undefined) headers.set('content-type', 'application/json');
      const content = body === undefined ? null : JSON.stringify(body);
      const init = { method, headers, body: content };
      const response = await app.request(path, init, bindings(down));
      const text = await response.text();
      const isJson = response.headers.get('content-type')?.includes('json');
      const parsed = isJson ? JSON.parse(text) : undefined;
      return { status: response.status, headers: response.headers, text, body: parsed };
    },
    request: async (path, init, down) => app.request(path, init, bindings(down)),
    sent() {
      const sent = statements;
      statements = [];
      return sent;
    },
    bindings,
    connect,
    async move(queue, to) {
      for (const { owner } of nodes.values())
        await owner.query('update tock_nodes.keys set node = $2 where key = $1', [queue, to]);
      for (const [node, { owner }] of nodes) {
        if (node !== to) await owner.query('select tock.drop_queue($1, p_force => true)', [queue]);
      }
    },
    async recordMove(queue) {
      for (const { owner } of nodes.values())
        await owner.query('insert into tock_nodes.moves values ($1, 1)', [queue]);
    },
    async flip(queue) {
      const { rows } = await at(1).owner.query('select tock.queue_to_move($1) as found', [queue]);
      const { row, keys } = rows[0].found;
      await at(2).owner.query('select tock.adopt_queue($1, $2)', [row, JSON.stringify(keys)]);
      for (const { owner } of nodes.values())
        await owner.query('update tock_nodes.keys set node = 2 where key = $1', [queue]);
    },
    rows: async (node, sql, values) => (await at(node).owner.query(sql, values)).rows,
    async drop() {
      await Promise.all([...nodes.values()].map(({ database }) => database.drop()));
    },
  };
}

/** The node of an id. */
export const nodeOf = (id: string) => Number(BigInt(id) >> 53n);
