import { existsSync, readdirSync } from 'node:fs';
import { aptInstall, aptUpdate, newestPackaged } from './apt.ts';
import { run } from './run.ts';
import type { StepReporter } from './step_reporter.ts';

/** The paths of PostgreSQL and related programs in the packages of Debian and Ubuntu. */
export type Installed = { major: number; bin: string; cron: boolean; pgbouncer: string | null };

export const oldest = 15;
export const newest = 18;

const pgbouncers = ['/usr/sbin/pgbouncer', '/usr/local/sbin/pgbouncer', '/usr/local/bin/pgbouncer'];

export function installedPgbouncer(): string | null {
  return pgbouncers.find((path) => existsSync(path)) ?? null;
}

/** PostgreSQL with pg_cron, the newest unless a version is given, if PgBouncer is installed too. */
export function installedPostgres(major?: number): Installed | null {
  const root = '/usr/lib/postgresql';
  const pgbouncer = installedPgbouncer();
  const majors = (existsSync(root) ? readdirSync(root).map(Number) : [])
    .filter((version) => version >= oldest && version <= newest)
    .filter((version) => existsSync(`${root}/${version}/bin/initdb`))
    .filter((version) => existsSync(`${root}/${version}/lib/pg_cron.so`))
    .sort((a, b) => b - a);
  const selected = major === undefined ? majors[0] : majors.find((version) => version === major);
  if (!selected || !pgbouncer) return null;
  return { major: selected, bin: `${root}/${selected}/bin`, cron: true, pgbouncer };
}

const alternatives = `Or start a Docker engine, or set DATABASE_URL to a PostgreSQL ${oldest} to ${newest} \
(for the tests TOCK_TEST_DATABASE_URL, a superuser's), then repeat the command.`;

/** The installed PostgreSQL, or one installed by apt. */
export async function packaged(reporter: StepReporter, signal?: AbortSignal): Promise<Installed> {
  const selected = installedPostgres();
  if (selected) return selected;
  if (!existsSync('/usr/bin/apt-get')) {
    throw new Error(
      `No PostgreSQL is available: no Docker engine answers, and this system has no apt-get.\n${alternatives}`,
    );
  }
  if (process.getuid?.() !== 0) {
    const names = packageNames((await newestPackaged()) ?? oldest).join(' ');
    throw new Error(
      `PostgreSQL with pg_cron, or PgBouncer, is not installed, and only root may install it. Run:

  sudo apt-get update && sudo apt-get install -y --no-install-recommends ${names}

${alternatives}`,
    );
  }
  await aptUpdate(reporter, signal);
  const major = await newestPackaged();
  if (!major) {
    throw new Error(
      'No apt source offers PostgreSQL 15 to 18 with pg_cron. Debian 12 and newer have both in main,\n' +
        `Ubuntu in universe, and https://wiki.postgresql.org/wiki/Apt has them for every release.\n${alternatives}`,
    );
  }
  await aptInstall(reporter, packageNames(major), signal);
  await run([`/usr/lib/postgresql/${major}/bin/postgres`, '--version']);
  const installed = installedPostgres();
  if (installed) return installed;
  throw new Error(
    `The packages are installed, but PostgreSQL with pg_cron is not under /usr/lib/postgresql.\n${alternatives}`,
  );
}

const onPath = (program: string) =>
  (process.env.PATH ?? '').split(':').some((folder) => existsSync(`${folder}/${program}`));

/** The packages to install. curl is added if it is missing, because the commands that `npm start` prints need it. */
export function packageNames(major: number): string[] {
  const curl = onPath('curl') ? [] : ['curl'];
  return [`postgresql-${major}`, `postgresql-${major}-cron`, 'pgbouncer', ...curl];
}
