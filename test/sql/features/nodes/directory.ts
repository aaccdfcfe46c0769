import type pg from 'pg';

type Client = Pick<pg.ClientBase, 'query'>;

/**
 * Gives a database the directory of a node with this number, as a plain table. A key is the name of a queue, or a colon
 * and a range.
 */
export async function putDirectory(
  client: Client,
  node: number,
  owners: Record<string, number>,
): Promise<void> {
  await client.query(`
    create schema if not exists tock_nodes;
    create table if not exists tock_nodes.keys (key text primary key, node integer not null);
    create or replace function tock_nodes.owner(p_key text) returns integer language sql stable
      as $$ select k.node from tock_nodes.keys k where k.key = p_key $$;
    create or replace function tock_nodes.this_node() returns integer language sql immutable
      as $$ select ${node} $$;`);
  await client.query(
    'insert into tock_nodes.keys select key, value::integer from jsonb_each_text($1)',
    [owners],
  );
}
