import type pg from 'pg';
import { withDatabase } from '../../migrate/connect.ts';
import { Failure } from '../../migrate/failure.ts';
import { migrate } from '../../migrate/migrate.ts';
import { runStatement } from '../statement.ts';
import { ask, type Node, pin } from './directory.ts';

/** A database that becomes a node: its server as the other nodes and clients reach it, and its range of ids. */
export type Joining = {
  name: string;
  host: string;
  port: number;
  address: string;
  range: number;
  owner: string;
  queues: string[];
};

const facts = `
  select exists (select from pg_catalog.pg_extension where extname = 'citus') as citus,
    (select pg_catalog.pg_get_userbyid(n.nspowner) from pg_catalog.pg_namespace n
     where n.nspname = 'tock') as owner,
    (select (p.last_value >> 33)::integer from tock.positions p) as range,
    exists (select from tock.runs) or exists (select from tock.waiting)
      or exists (select from tock.promotions) as has_tasks,
    array(select q.name from tock.queues q where q.name not in ('*', 'tock-webhooks')
      order by q.name) as queues`;

/** The range of a database that joins: that of its tasks, else the next one that no node has had. */
function rangeFor(
  name: string,
  own: { range: number; has_tasks: boolean },
  taken: number[],
): number {
  if (own.has_tasks && !taken.includes(own.range)) return own.range;
  if (!own.has_tasks) {
    const next = Math.max(own.range, ...taken.map((range) => range + 1));
    if (next <= 1023) return next;
    throw new Failure('No range of ids is left above those that nodes have had.');
  }
  throw new Failure(
    `${name} has tasks, and their ids are in range ${own.range}, which another node has.`,
    'Only one database with tasks can have this range: join one without tasks.',
  );
}

/** Brings a database to this version of Tock, and gives it a range of ids that no other node has. */
export async function prepare(
  url: string,
  options: { name: string | undefined; server: string | undefined; taken: number[] },
  log: (line: string) => void,
): Promise<Joining> {
  const { hostname, port } = new URL(url);
  const server = options.server ?? `${hostname}:${port || 5432}`;
  const host = server.replace(/:\d+$/, '');
  const name = options.name ?? server;
  log(`Migrating ${name}`);
  await withDatabase(url, async (client) => {
    const [row] = await runStatement<{ citus: boolean }>(
      client,
      "select exists (select from pg_catalog.pg_extension where extname = 'citus') as citus",
    );
    if (row?.citus) return;
    throw new Failure(
      `The database of ${name} has no Citus.`,
      'Have an administrator run in it: create extension citus;',
    );
  });
  await migrate(url, {});
  return withDatabase(url, async (client) => {
    const [own] = await runStatement<{
      owner: string;
      range: number;
      has_tasks: boolean;
      queues: string[];
    }>(client, facts);
    if (!own) throw new Error('The catalog query returned no row.');
    const range = rangeFor(name, own, options.taken);
    await runStatement(client, 'select tock.found_range($1)', [range]);
    return {
      name,
      host,
      port: Number(/:(\d+)$/.exec(server)?.[1] ?? 5432),
      address: server,
      range,
      owner: own.owner,
      queues: own.queues,
    };
  });
}

/** Makes a database a worker of Citus, unless it is one, and returns its number. */
export async function addToCitus(client: pg.Client, { host, port }: Joining): Promise<number> {
  await runStatement(client, 'select pg_catalog.citus_add_node($1, $2)', [host, port]);
  const [row] = await runStatement<{ groupid: number }>(
    client,
    `select n.groupid from pg_catalog.pg_dist_node n
     where n.nodename = $1 and n.nodeport = $2 and n.noderole = 'primary'`,
    [host, port],
  );
  if (!row) throw new Error(`Citus does not list ${host}:${port}.`);
  return row.groupid;
}

/** The directory learns of a node: its range, and the queues that it has already. */
export async function register(
  client: pg.Client,
  node: number,
  joining: Joining,
  log: (line: string) => void,
): Promise<void> {
  const { name, address, range, queues } = joining;
  await pin(client, `:${range}`, node);
  await runStatement(
    client,
    `insert into tock_nodes.nodes (node, name, address) values ($1, $2, $3)
     on conflict (node) do update set name = excluded.name, address = excluded.address`,
    [node, name, address],
  );
  await runStatement(
    client,
    `insert into tock_nodes.ranges (range, node) values ($1, $2)
     on conflict (range) do nothing`,
    [range, node],
  );
  for (const queue of queues) {
    log(`Queue ${queue} stays on ${name}`);
    await pin(client, queue, node);
  }
}

/** Copies the API keys and the default policy from a node to one that has just come. */
export async function copySettings(client: pg.Client, from: Node, url: string): Promise<void> {
  const text = await ask(
    client,
    from.key,
    `select pg_catalog.jsonb_build_object(
       'keys', (select coalesce(pg_catalog.jsonb_agg(pg_catalog.to_jsonb(k) order by k.created_at), '[]')
         from tock.keys k),
       'policy', (select pg_catalog.to_jsonb(q) from tock.queues q where q.name = '*'))::text`,
  );
  const { keys, policy } = JSON.parse(text ?? '{}');
  await withDatabase(url, async (node) => {
    await runStatement(
      node,
      'select tock.copy_key(k.key) from pg_catalog.jsonb_array_elements($1) with ordinality k (key, n) order by k.n',
      [JSON.stringify(keys)],
    );
    await runStatement(
      node,
      `with gone as (delete from tock.queues q where q.name = '*' returning q.home)
       insert into tock.queues
       select n.* from gone g cross join lateral pg_catalog.jsonb_populate_record(null::tock.queues,
         $1::jsonb || pg_catalog.jsonb_build_object('home', g.home)) n`,
      [JSON.stringify(policy)],
    );
  });
}
