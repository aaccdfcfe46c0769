import pg from 'pg';
import { checkHistory, checkServer, describeHolder, hasCron } from './migrate_checks.ts';
import { readSqlFiles, type SqlFile, sqlDirectory } from './sql_files.ts';

export type MigrateOptions = { directory?: string; log?: (line: string) => void };

export type MigrateReport = { applied: string[]; routines: number; cron: boolean };

/** Said to the user as it is: what went wrong and what to do next. */
export class MigrateError extends Error {}

const withoutCron = `pg_cron can't be used in this database, so by itself nothing will: promote delayed tasks and
retries (claims do that on their way), take back runs of workers that died, make epochs ahead, purge old records.
Call tock.tick() from outside every few seconds instead (POST /v1/tick), or install pg_cron, grant usage on
schema cron to this role, and migrate again.`;

/**
 * Brings a database to this package's state: migrations not yet applied, every routine, every cron
 * job, in one transaction under one advisory lock, with a managed PostgreSQL's rights. Works through
 * a transaction pooler. Throws MigrateError and leaves nothing changed when something is wrong.
 */
export async function migrate(
  target: string | pg.Client,
  { directory = sqlDirectory(), log = () => {} }: MigrateOptions = {},
): Promise<MigrateReport> {
  const files = readSqlFiles(directory);
  const client = typeof target === 'string' ? await connect(target) : target;
  try {
    await client.query('begin');
    await client.query("set local lock_timeout = '30s'; set local statement_timeout = '120s'");
    await client.query("set local client_min_messages = 'warning'");
    await checkServer(client);
    await client.query("select pg_advisory_xact_lock(hashtextextended('tock:migrate', 0))");
    const applied = await checkHistory(client, files.migrations);
    const fresh = files.migrations.filter((file) => !applied.has(file.number));
    for (const file of fresh) {
      await run(client, file);
      await client.query(
        'insert into tock.migrations (number, name, checksum) values ($1, $2, $3)',
        [file.number, file.name, file.checksum],
      );
      log(`applied ${file.name}`);
    }
    for (const file of files.routines) await run(client, file);
    const cron = await hasCron(client);
    for (const file of cron ? files.cron : []) await run(client, file);
    await client.query('commit');
    log(`replaced the routines of ${files.routines.length} files`);
    log(cron ? `scheduled ${files.cron.length - 1} jobs with pg_cron` : withoutCron);
    return { applied: fresh.map((file) => file.name), routines: files.routines.length, cron };
  } catch (error) {
    await client.query('rollback').catch(() => {});
    throw await explain(client, error);
  } finally {
    if (typeof target === 'string') await client.end().catch(() => {});
  }
}

async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 15_000 });
  client.on('error', () => {});
  try {
    await client.connect();
    return client;
  } catch (error) {
    const { host, port, database } = client;
    const reason = (error as Error).message || (error as { code?: string }).code;
    throw new MigrateError(
      `The database ${database} at ${host}:${port} can't be reached: ${reason}.\n` +
        'Check DATABASE_URL and that PostgreSQL is running.',
    );
  }
}

async function run(client: pg.Client, file: SqlFile): Promise<void> {
  try {
    await client.query(file.text);
  } catch (error) {
    const { message, position, hint, code } = error as pg.DatabaseError;
    const line = position ? file.text.slice(0, Number(position)).split('\n').length : null;
    const place = line ? `sql/${file.name}, line ${line}` : `sql/${file.name}`;
    const next = code === '55P03' ? await describeHolder(client) : hint;
    throw new MigrateError(
      `${place}: ${message}${next ? `\n${next}` : ''}\nNothing was changed; the database is as it was.`,
    );
  }
}

async function explain(client: pg.Client, error: unknown): Promise<Error> {
  if (error instanceof MigrateError) return error;
  const { message, code } = error as pg.DatabaseError;
  const next = code === '55P03' || code === '57014' ? `\n${await describeHolder(client)}` : '';
  return new MigrateError(`${message}${next}\nNothing was changed; the database is as it was.`);
}
