import type pg from 'pg';
import { MigrateError } from './migrate.ts';
import type { SqlFile } from './sql_files.ts';

/** Raises for a server that Tock can't live on. */
export async function checkServer(client: pg.Client): Promise<void> {
  const { rows } = await client.query(`
    select current_setting('server_version_num')::int as version, current_setting('server_version') as shown,
      pg_is_in_recovery() or current_setting('transaction_read_only') = 'on' as read_only,
      to_regnamespace('tock') is not null as made, current_user as role, current_database() as database,
      has_database_privilege(current_database(), 'create') as may_create`);
  const server = rows[0];
  if (server.version < 150000) {
    throw new MigrateError(`Tock needs PostgreSQL 15 or newer; this is ${server.shown}.`);
  }
  if (server.read_only) {
    throw new MigrateError('This server is read-only (a standby?). Migrate its primary.');
  }
  if (!server.made && !server.may_create) {
    throw new MigrateError(
      `${server.role} may not create the schema tock. As the owner of the database run:\n` +
        `grant create on database ${server.database} to ${server.role};`,
    );
  }
}

/** The numbers already applied; raises when history and files disagree. */
export async function checkHistory(client: pg.Client, files: SqlFile[]): Promise<Set<number>> {
  const { rows: made } = await client.query("select to_regnamespace('tock') is not null as made");
  if (!made[0].made) await client.query('create schema tock');
  await client.query(`
    create table if not exists tock.migrations (
      number integer primary key,
      name text not null,
      checksum text not null,
      applied_at timestamptz not null default now())`);
  const { rows } = await client.query(
    'select number, name, checksum from tock.migrations order by 1',
  );
  for (const row of rows) {
    const file = files.find((candidate) => candidate.number === row.number);
    if (!file) {
      throw new MigrateError(
        `This database has ${row.name}, which this Tock doesn't know: a newer one migrated it. Use that one.`,
      );
    }
    if (file.checksum !== row.checksum) {
      throw new MigrateError(
        `sql/${file.name} was changed after it was applied here. Migrations are immutable: restore the file` +
          ' and put the change into a new one.',
      );
    }
  }
  return new Set(rows.map((row) => row.number));
}

/** Whether jobs can be scheduled: pg_cron installed in this database, its schema usable. */
export async function hasCron(client: pg.Client): Promise<boolean> {
  const { rows } = await client.query(`
    select exists (select from pg_extension where extname = 'pg_cron')
      and has_schema_privilege(to_regnamespace('cron')::oid, 'usage') as usable`);
  return rows[0].usable === true;
}

/** Who holds what a migration waited for, asked after its transaction is gone. */
export async function describeHolder(client: pg.Client): Promise<string> {
  await client.query('rollback').catch(() => {});
  const { rows } = await client
    .query(`
      select a.pid, a.usename, a.application_name, a.state, now() - a.xact_start as age
      from pg_locks l join pg_stat_activity a using (pid)
      where l.granted and a.pid <> pg_backend_pid() and a.xact_start is not null
        and (l.relation in (select oid from pg_class where relnamespace = to_regnamespace('tock'))
          or l.locktype = 'advisory')
      order by a.xact_start limit 1`)
    .catch(() => ({ rows: [] }));
  const holder = rows[0];
  return holder
    ? `Waited too long behind pid ${holder.pid} (${holder.usename ?? 'another role'}, ${holder.state ?? 'state unknown'}` +
        ` for ${holder.age?.toPostgres?.() ?? 'some time'}). End that transaction, then migrate again.`
    : 'Waited too long for a lock. Look for open transactions in pg_stat_activity, then migrate again.';
}
