import { existsSync, readdirSync } from 'node:fs';
import { aptInstall, aptUpdate, newestPackaged } from './apt.ts';
import { run } from './run.ts';
import type { Say } from './say.ts';

/** PostgreSQL and what is with it, where Debian's and Ubuntu's packages put them. */
export type Installed = { major: number; bin: string; cron: boolean; pgbouncer: string | null };

export const oldest = 15;
export const newest = 18;

const pgbouncers = ['/usr/sbin/pgbouncer', '/usr/local/sbin/pgbouncer', '/usr/local/bin/pgbouncer'];

export function installedPgbouncer(): string | null {
  return pgbouncers.find((path) => existsSync(path)) ?? null;
}

/** PostgreSQL with pg_cron, the newest unless a version is asked for, if PgBouncer is there too. */
export function installedPostgres(major?: number): Installed | null {
  const root = '/usr/lib/postgresql';
  const pgbouncer = installedPgbouncer();
  const majors = (existsSync(root) ? readdirSync(root).map(Number) : [])
    .filter((version) => version >= oldest && version <= newest)
    .filter((version) => existsSync(`${root}/${version}/bin/initdb`))
    .filter((version) => existsSync(`${root}/${version}/lib/pg_cron.so`))
    .sort((a, b) => b - a);
  const found = major === undefined ? majors[0] : majors.find((version) => version === major);
  if (!found || !pgbouncer) return null;
  return { major: found, bin: `${root}/${found}/bin`, cron: true, pgbouncer };
}

const otherWays = `Or start a Docker engine, or set DATABASE_URL to a PostgreSQL ${oldest} to ${newest} \
(for the tests TOCK_TEST_DATABASE_URL, a superuser's), then run this again.`;

/** What is installed, or after installing it with apt. */
export async function packaged(say: Say, signal?: AbortSignal): Promise<Installed> {
  const found = installedPostgres();
  if (found) return found;
  if (!existsSync('/usr/bin/apt-get')) {
    throw new Error(
      `There is no PostgreSQL to run on: no Docker engine answers, and this system has no apt-get.\n${otherWays}`,
    );
  }
  if (process.getuid?.() !== 0) {
    const names = packageNames((await newestPackaged()) ?? oldest).join(' ');
    throw new Error(
      `PostgreSQL with pg_cron, or PgBouncer, is not installed, and only root may install it. Run:\n
  sudo apt-get update && sudo apt-get install -y --no-install-recommends ${names}\n
${otherWays}`,
    );
  }
  await aptUpdate(say, signal);
  const major = await newestPackaged();
  if (!major) {
    throw new Error(
      'No apt source offers PostgreSQL 15 to 18 with pg_cron. Debian 12 and newer have both in main,\n' +
        `Ubuntu in universe, and https://wiki.postgresql.org/wiki/Apt has them for every release.\n${otherWays}`,
    );
  }
  await aptInstall(say, packageNames(major), signal);
  await run([`/usr/lib/postgresql/${major}/bin/postgres`, '--version']);
  const now = installedPostgres();
  if (now) return now;
  throw new Error(
    `The packages are installed, yet PostgreSQL with pg_cron is not under /usr/lib/postgresql.\n${otherWays}`,
  );
}

const onPath = (program: string) =>
  (process.env.PATH ?? '').split(':').some((folder) => existsSync(`${folder}/${program}`));

/** With curl where there is none: the lines that `npm start` prints need it. */
export function packageNames(major: number): string[] {
  const curl = onPath('curl') ? [] : ['curl'];
  return [`postgresql-${major}`, `postgresql-${major}-cron`, 'pgbouncer', ...curl];
}
