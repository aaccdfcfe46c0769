import { appendFileSync, existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { aptInstall, aptUpdate } from './apt.ts';
import { buildFolder } from './build_folder.ts';
import { aptMirrors, findMirror, proxyFor } from './mirror.ts';
import type { Installed } from './packages.ts';
import { home } from './paths.ts';
import { attempt, run } from './run.ts';
import type { StepReporter } from './step_reporter.ts';
import type { DatabaseUser } from './user.ts';

/** Debian releases by their PostgreSQL version, if they also package pg_cron. */
export const releases: Record<number, { release: string; debian: number }> = {
  15: { release: 'bookworm', debian: 12 },
  17: { release: 'trixie', debian: 13 },
};

/** The database folders inside a Debian folder. */
export const databasesOf = (root: string) => join(root, 'var/lib/tock');

export function debianFolders(): string[] {
  return Object.values(releases)
    .map(({ debian }) => join(home(), `debian-${debian}`))
    .filter((root) => existsSync(root));
}

const path = { PATH: `${process.env.PATH}:/usr/sbin:/sbin:/usr/bin:/bin` };

// With these namespaces the mounts and processes of a build end with it, even after kill -9.
const apart = ['unshare', '--mount', '--pid', '--fork', '--kill-child'];

/** The keys of Debian's archive. Without them debootstrap would check nothing, so --force-check-gpg is set too. */
const keyring = 'share/keyrings/debian-archive-keyring.gpg';

async function bootstrap(fresh: string, release: string, packages: string[], signal?: AbortSignal) {
  const mirror = await findMirror(release, await aptMirrors());
  const mayMount = (await attempt([...apart, 'true'])).code === 0;
  const argv = ['setpriv', '--pdeathsig', 'KILL', '--', ...(mayMount ? apart : []), 'debootstrap'];
  argv.push(
    '--force-check-gpg',
    '--variant=minbase',
    `--include=${packages.join(',')}`,
    release,
    fresh,
    mirror,
  );
  const env = { ...process.env, ...path, ...(await proxyFor(mirror)), LC_ALL: 'C.UTF-8' };
  // This setting keeps Debian's packages from creating a cluster of their own.
  mkdirSync(join(fresh, 'etc/postgresql-common/createcluster.d'), { recursive: true });
  const setting = join(fresh, 'etc/postgresql-common/createcluster.d/tock.conf');
  appendFileSync(setting, 'create_main_cluster = false\n');
  await run(argv, { env, cwd: '/', stopWith: 'SIGKILL', ...(signal && { signal }) });
  for (const cacheFolder of ['var/cache/apt', 'var/lib/apt/lists']) {
    rmSync(join(fresh, cacheFolder), { recursive: true });
  }
  await run(['install', '-d', '-m', '755', databasesOf(fresh)]);
}

/** The folder of the Debian with this PostgreSQL. debootstrap builds it if needed, as root. */
export async function debianWith(major: number, reporter: StepReporter, signal?: AbortSignal) {
  const { release, debian } = releases[major] ?? { release: '', debian: 0 };
  const root = join(home(), `debian-${debian}`);
  const packages = [`postgresql-${major}`, `postgresql-${major}-cron`, 'pgbouncer'];
  await buildFolder(root, `1 ${release} ${packages.join(' ')}\n`, reporter, async (fresh) => {
    if (!['sbin/debootstrap', keyring, 'bin/gpgv'].every((path) => existsSync(`/usr/${path}`))) {
      await aptUpdate(reporter, signal);
      await aptInstall(reporter, ['debootstrap', 'debian-archive-keyring', 'gpgv'], signal);
    }
    const what = `Building a folder with Debian ${debian} and its PostgreSQL ${major}`;
    await reporter.step(`${what} (debootstrap, about a minute)`, () =>
      bootstrap(fresh, release, packages, signal),
    );
  });
  const bin = `${root}/usr/lib/postgresql/${major}/bin`;
  const installed: Installed = { major, bin, cron: true, pgbouncer: `${root}/usr/sbin/pgbouncer` };
  return { root, debian, installed };
}

// Creates a link inside the folder, at the path that the folder has outside, which leads to the folder's root. The link
// is relative, so it works from outside too. Parent folders inside get the right to be entered: root's home, for
// example, is closed.
const selfLink = `umask 022
way=$(dirname "$1")
mkdir -p "$way"
[ -L "$1" ] || ln -sr / "$1" || [ -L "$1" ]
while [ "$way" != / ]; do chmod a+x "$way"; way=$(dirname "$way"); done`;

/**
 * Prepares the folder for chroot: its paths mean the same inside and outside, and its PostgreSQL finds the user by
 * name. Two concurrent calls do no harm.
 */
export async function makeEnterable(root: string, user: DatabaseUser): Promise<void> {
  const env = { ...process.env, ...path };
  await run(['chroot', root, 'sh', '-ec', selfLink, 'sh', root], { env });
  const users = join(root, 'etc/passwd');
  const lines = readFileSync(users, 'utf8').split('\n');
  if (lines.some((line) => line.split(':')[2] === String(user.uid))) return;
  appendFileSync(users, `tock:x:${user.uid}:${user.gid}::/:/usr/sbin/nologin\n`);
}
