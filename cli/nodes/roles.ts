import type pg from 'pg';
import { withDatabase } from '../../migrate/connect.ts';
import { runStatement } from '../statement.ts';

type Role = { name: string; login: boolean; attributes: string; password: string | null };

const read = `
  select r.rolname as name, r.rolcanlogin as login, r.rolpassword as password,
    pg_catalog.concat_ws(' ', case when r.rolcanlogin then 'login' else 'nologin' end,
      case when r.rolcreaterole then 'createrole' end, case when r.rolcreatedb then 'createdb' end)
      as attributes
  from pg_catalog.pg_authid r
  where r.rolname in ('tock_producer', 'tock_worker', 'tock_admin', 'tock_edge')
    or r.oid = (select n.nspowner from pg_catalog.pg_namespace n where n.nspname = 'tock')`;

const rolesOf = (client: pg.Client) => runStatement<Role>(client, read);

/**
 * Gives the coordinator the roles of a node, with login and password. Citus copies the roles of the coordinator to all
 * nodes, so a role without login there would lose it on the nodes.
 */
export async function copyRoles(client: pg.Client, url: string): Promise<void> {
  for (const { name, login, attributes, password } of await withDatabase(url, rolesOf)) {
    const [own] = await runStatement<{ rolcanlogin: boolean }>(
      client,
      'select rolcanlogin from pg_catalog.pg_roles where rolname = $1',
      [name],
    );
    if (own && (own.rolcanlogin || !login)) continue;
    const secret = password === null ? '' : ` password ${client.escapeLiteral(password)}`;
    const role = client.escapeIdentifier(name);
    await runStatement(client, `${own ? 'alter' : 'create'} role ${role} ${attributes}${secret}`);
  }
}
