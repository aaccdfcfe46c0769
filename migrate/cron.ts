import type pg from 'pg';
import { apply } from './apply.ts';
import type { SqlFile } from './files.ts';

const question = `
  select pg_catalog.quote_ident(current_user) as role,
    pg_catalog.quote_ident(current_database()) as database,
    exists (select from pg_catalog.pg_extension where extname = 'pg_cron') as installed,
    exists (select from pg_catalog.pg_namespace s where s.nspname = 'cron'
      and pg_catalog.has_schema_privilege(s.oid, 'usage')) as usable`;

const maintenance_jobs = `  - promoting delayed and retried tasks when they fall due
  - reaping the runs of workers that died
  - making segments ahead of need
  - purging request ids and old records`;

/** Returns why pg_cron cannot be used here, with the consequences; null if it can. */
export async function cronMissing(client: pg.Client): Promise<string | null> {
  const { rows } = await client.query(question);
  const { role, database, installed, usable } = rows[0];
  if (installed && usable) return null;
  const grant = `grant usage on schema cron to ${role};`;
  const [why, cure] = installed
    ? [`role ${role} has no USAGE on schema cron`, grant]
    : [`it is not installed in database ${database}`, `create extension pg_cron; ${grant}`];
  return `pg_cron is not used: ${why}.
Without it these jobs do not run:
${maintenance_jobs}
Instead, call "select tock.tick()" from outside every few seconds: it does what is due.
Or have an administrator run "${cure}" and migrate again.`;
}

const declared = `
  select jobname, schedule, command, username, active from cron.job
  where jobname like 'tock:%' order by jobname, username`;

/** Declares the jobs; true if any changed. */
export async function declareJobs(client: pg.Client, files: SqlFile[]): Promise<boolean> {
  const declaredBefore = JSON.stringify((await client.query(declared)).rows);
  for (const file of files) await apply(client, file);
  return JSON.stringify((await client.query(declared)).rows) !== declaredBefore;
}

const LAUNCHER_MS = 2_000;

/**
 * Declares the jobs again in a small transaction, because pg_cron's launcher may have missed the change. The launcher
 * learns of changed jobs by a catalog message. A transaction with more than 4,096 such messages sends a reset instead,
 * which the launcher ignores (pg_cron's pull request 406). It would then run no job until the next change.
 */
export async function wakeLauncher(client: pg.Client, files: SqlFile[], role: string | null) {
  await new Promise((resolve) => setTimeout(resolve, LAUNCHER_MS));
  await client.query('begin');
  try {
    if (role !== null) await client.query(`set local role ${role}`);
    for (const file of files) await apply(client, file);
    await client.query('commit');
  } catch (error) {
    await client.query('rollback').catch(() => {});
    throw error;
  }
}
