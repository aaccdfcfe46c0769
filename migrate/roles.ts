import type pg from 'pg';
import { Failure } from './failure.ts';

const question = `
  select pg_catalog.quote_ident(current_user) as role, g.rolcreaterole or g.rolsuper as may_create,
    array(
      select r from unnest(array['tock_producer', 'tock_worker', 'tock_admin', 'tock_edge']) r
      where not exists (select from pg_catalog.pg_roles o where o.rolname = r)) as missing
  from pg_catalog.pg_roles g where g.rolname = current_user`;

// The same settings as in 05_roles.sql and 0001_roles.sql.
const lines = (role: string) => [
  `create role ${role} nologin;`,
  ...(role === 'tock_edge'
    ? ["statement_timeout = '30s'", "lock_timeout = '2s'"].map(
        (setting) => `alter role ${role} set ${setting};`,
      )
    : []),
];

/** Refuses if roles are missing that this role may not create. The error lists the statements to run. */
export async function checkRoles(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ role: string; may_create: boolean; missing: string[] }>(
    question,
  );
  const { role, may_create, missing } = rows[0] ?? { role: '', may_create: true, missing: [] };
  if (may_create || missing.length === 0) return;
  throw new Failure(
    `Role ${role} may not create roles, and the cluster has no ${missing.join(', ')}.`,
    `Have an administrator run this, then migrate again:
${missing
  .flatMap(lines)
  .map((line) => `  ${line}`)
  .join('\n')}`,
  );
}
