import type pg from 'pg';

const question = `
  select pg_catalog.quote_ident(current_user) as role,
    pg_catalog.quote_ident(current_database()) as database,
    exists (select from pg_catalog.pg_extension where extname = 'pg_cron') as installed,
    exists (select from pg_catalog.pg_namespace s where s.nspname = 'cron'
      and pg_catalog.has_schema_privilege(s.oid, 'usage')) as usable`;

const duties = `  - promoting delayed and retried tasks when they fall due
  - reaping the runs of workers that died
  - making epochs ahead of need
  - purging request ids and old records`;

/** Null when pg_cron can be used here, else why it can't and what that means. */
export async function cronMissing(client: pg.Client): Promise<string | null> {
  const { rows } = await client.query(question);
  const { role, database, installed, usable } = rows[0];
  if (installed && usable) return null;
  const grant = `grant usage on schema cron to ${role};`;
  const [why, cure] = installed
    ? [`role ${role} has no USAGE on schema cron`, grant]
    : [`it is not installed in database ${database}`, `create extension pg_cron; ${grant}`];
  return `pg_cron is not used: ${why}.
Without it these do not happen by themselves:
${duties}
Call "select tock.tick()" from outside every few seconds instead: it does what is due.
Or have an administrator run "${cure}" and migrate again.`;
}
