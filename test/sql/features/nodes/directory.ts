import type pg from 'pg';
import { apply } from '../../../../migrate/apply.ts';
import { readSql } from '../../../../migrate/files.ts';

/** What only Citus can make. */
const ofCitus = ['nodes/directory.sql', 'nodes/router.sql'];

/**
 * Gives a database the directory of a node with this number, as a plain table. A key is the name of a queue, or a colon
 * and a range. ask() runs every statement here. The owners of ranges are also the nodes, with these addresses.
 */
export async function putDirectory(
  client: pg.Client,
  node: number,
  owners: Record<string, number>,
  addresses: Record<number, string> = {},
): Promise<void> {
  const shared = readSql().nodes.filter(({ name }) => !ofCitus.includes(name));
  const [tables, ...functions] = shared;
  if (!tables) throw new Error('sql/nodes has no files.');
  await apply(client, tables);
  await client.query(`
    create table if not exists tock_nodes.keys (key text primary key, node integer not null);
    create or replace function tock_nodes.owner(p_key text) returns integer language sql stable
      as $$ select k.node from tock_nodes.keys k where k.key = p_key $$;
    create or replace function tock_nodes.this_node() returns integer language sql immutable
      as $$ select ${node} $$;`);
  for (const file of functions) await apply(client, file);
  await client.query(
    'grant select on tock_nodes.keys to tock_producer, tock_worker, tock_admin, tock_edge',
  );
  await client.query(
    'insert into tock_nodes.keys select key, value::integer from jsonb_each_text($1)',
    [owners],
  );
  await client.query(`insert into tock_nodes.ranges
    select substr(k.key, 2)::integer, k.node from tock_nodes.keys k where k.key like ':%'`);
  await client.query(
    `insert into tock_nodes.nodes
     select r.node, 'node ' || r.node, coalesce($1::jsonb ->> r.node::text, 'localhost')
     from tock_nodes.ranges r group by r.node`,
    [addresses],
  );
}
