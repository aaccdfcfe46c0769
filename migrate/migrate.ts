import type pg from 'pg';
import { apply } from './apply.ts';
import { type Watch, watchBlockers } from './blockers.ts';
import { withDatabase } from './connect.ts';
import { cronMissing, declareJobs, wakeLauncher } from './cron.ts';
import { Failure } from './failure.ts';
import { readSql, type SqlFiles } from './files.ts';
import { applyFunctions, checkBodies, storeTemplates } from './functions.ts';
import { pending, recordMigration } from './history.ts';
import { checkRoles } from './roles.ts';
import { checkRights, checkServer, openToAll, readServer } from './server.ts';

export { Failure as MigrateError } from './failure.ts';

export type MigrateOptions = {
  log?: (message: string) => void;
  /** The folder with migrations, functions and cron. Default: that of this installation. */
  directory?: string;
  /** How long to wait for another migrator. */
  waitSeconds?: number;
  /** How long to wait for each lock of a statement. */
  lockSeconds?: number;
};

export type MigrateReport = {
  /** Names of the migrations applied by this call. */
  applied: string[];
  /** The number of function files applied. */
  functions: number;
  /** True if pg_cron is used. If not, the log gives the reason and the consequences. */
  cron: boolean;
  /** Advice about the server's settings, or null. */
  advice: string | null;
};

type Done = {
  report: Omit<MigrateReport, 'advice'>;
  missing: string | null;
  /** True if the jobs changed. */
  jobs: boolean;
  /** The role that owns the jobs, if it is another one. */
  owner: string | null;
};

type Settings = Required<Omit<MigrateOptions, 'directory'>>;

const settings = (lockSeconds: number) => `
  set local lock_timeout = '${lockSeconds}s';
  set local statement_timeout = '15min';
  set local idle_in_transaction_session_timeout = '1min';
  set local client_min_messages = warning;
  set local standard_conforming_strings = on;
  set local search_path = pg_catalog`;

// This lock has one bigint as its key, so it cannot conflict with the verbs' locks, whose keys are two integers.
const lock = `select pg_catalog.pg_advisory_xact_lock(
  pg_catalog.hashtextextended('tock:migrate', 0))`;

async function work(client: pg.Client, files: SqlFiles, options: Settings): Promise<Done> {
  const { log } = options;
  await client.query(settings(options.waitSeconds));
  await client.query(lock);
  await client.query(settings(options.lockSeconds));
  const server = await readServer(client);
  checkRights(server);
  // Each node has a Tock of its own: Citus must not copy it to the others.
  if (server.citus) await client.query('set local citus.enable_ddl_propagation = off');
  const owner = server.owner !== server.role ? server.owner : null;
  if (owner !== null) {
    // All objects must belong to the owner: it could not replace objects of another role later.
    log(`Migrating as ${owner}, which owns the schema tock`);
    await client.query(`set local role ${owner}`);
  }
  await checkRoles(client);
  const applied = await pending(client, files.migrations, server);
  for (const file of applied) {
    log(`Applying ${file.name}`);
    await apply(client, file, options.lockSeconds);
    await recordMigration(client, file);
  }
  await applyFunctions(client, files.functions);
  await storeTemplates(client, files.templates);
  for (const file of files.last) await apply(client, file);
  await checkBodies(client, [...files.functions, ...files.templates]);
  const missing = await cronMissing(client);
  const jobs = !missing && (await declareJobs(client, files.cron));
  const report = { functions: files.functions.length, cron: !missing };
  return { report: { applied: applied.map((file) => file.name), ...report }, missing, jobs, owner };
}

// A retry can succeed after these errors. The last two lines: a migration of another database creates the same roles.
const passing = (error: pg.DatabaseError) =>
  error.code === '40P01' ||
  error.code === '40001' ||
  (error.code === '55P03' && /(create|alter) role/.test(error.where ?? '')) ||
  /concurrently updated|pg_db_role_setting_/.test(error.message);

function explain(cause: unknown, watch: Watch | null): Error {
  const error = cause as pg.DatabaseError;
  const unchanged = 'Nothing was changed.';
  if (error.code === '55P03') {
    const blockers = watch?.blockers() || 'no visible session (see pg_stat_activity)';
    return new Failure(
      `${error.message}\nBlocked by: ${blockers}`,
      `${unchanged} Wait for it or end it (select pg_terminate_backend(<process>)), then migrate again.`,
    );
  }
  if (error.code === '57014' || error.code === '25P03') {
    return new Failure(error.message, `${unchanged} Migrate again when the server is less busy.`);
  }
  if (error.code === '42501') {
    return new Failure(error.message, `${unchanged} Grant the missing right, then migrate again.`);
  }
  if (error.code) {
    return new Failure(error.message, `${unchanged} Correct the cause, then migrate again.`);
  }
  return error;
}

async function attempt(client: pg.Client, files: SqlFiles, options: Settings) {
  let watch: Watch | null = null;
  await client.query('begin isolation level read committed');
  try {
    const server = await readServer(client);
    checkServer(server);
    watch = watchBlockers(client, server.pid, options.log);
    const { report, missing, jobs, owner } = await work(client, files, options);
    const advice = server.open ? openToAll(server.database) : null;
    await client.query('commit');
    if (jobs)
      await wakeLauncher(client, files.cron, owner).catch(({ message }) => {
        options.log(
          `The jobs are scheduled, but pg_cron may not have noticed: migrate again. (${message})`,
        );
      });
    options.log(
      `Replaced the functions of ${report.functions} ${report.functions === 1 ? 'file' : 'files'}`,
    );
    options.log(missing ?? 'Scheduled the pg_cron jobs');
    return { ...report, advice };
  } catch (error) {
    await client.query('rollback').catch(() => {});
    if (passing(error as pg.DatabaseError)) return null;
    throw error instanceof Failure && !('code' in error) ? error : explain(error, watch);
  } finally {
    await watch?.stop();
  }
}

async function migrateOn(client: pg.Client, files: SqlFiles, options: Settings) {
  if (client.getTransactionStatus() !== 'I') {
    throw new Failure(
      'This connection is in a transaction.',
      'Give migrate() a connection without one.',
    );
  }
  for (let tries = 1; tries <= 5; tries++) {
    const report = await attempt(client, files, options);
    if (report) return report;
    options.log('Another transaction interfered: retrying');
  }
  throw new Failure('Other transactions interfered five times.', 'Nothing was changed. Retry.');
}

/**
 * Brings the schema tock to this version in one transaction under one advisory lock: pending migrations, all
 * functions, and the pg_cron jobs if pg_cron can be used. A failure changes nothing.
 */
export async function migrate(
  target: string | pg.Client,
  options: MigrateOptions = {},
): Promise<MigrateReport> {
  const { directory, log = () => {}, waitSeconds = 120, lockSeconds = 10 } = options;
  const files = readSql(directory);
  const run = (client: pg.Client) => migrateOn(client, files, { log, waitSeconds, lockSeconds });
  return typeof target === 'string' ? withDatabase(target, run, 0) : run(target);
}
