import { appendFileSync, existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { aptInstall, aptUpdate } from './apt.ts';
import { completeFolder } from './complete.ts';
import { aptMirrors, mirrorWith, proxyFor } from './mirror.ts';
import type { Installed } from './packages.ts';
import { home } from './place.ts';
import { attempt, run } from './run.ts';
import type { Say } from './say.ts';
import type { DatabaseUser } from './user.ts';

/** Debian's releases by the PostgreSQL in them that has a package with pg_cron too. */
export const releases: Record<number, { release: string; debian: number }> = {
  15: { release: 'bookworm', debian: 12 },
  17: { release: 'trixie', debian: 13 },
};

/** Folders of databases in a Debian's folder. */
export const databasesOf = (root: string) => join(root, 'var/lib/tock');

export function debianFolders(): string[] {
  return Object.values(releases)
    .map(({ debian }) => join(home(), `debian-${debian}`))
    .filter((root) => existsSync(root));
}

const path = { PATH: `${process.env.PATH}:/usr/sbin:/sbin:/usr/bin:/bin` };

// What is mounted inside, and whatever works there, ends with the making, even by kill -9.
const apart = ['unshare', '--mount', '--pid', '--fork', '--kill-child'];

/** What Debian's own archive is signed with; debootstrap goes on without it unless told. */
const keyring = 'share/keyrings/debian-archive-keyring.gpg';

async function bootstrap(fresh: string, release: string, packages: string[], signal?: AbortSignal) {
  const mirror = await mirrorWith(release, await aptMirrors());
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
  // No cluster of Debian's own: nobody would use it.
  mkdirSync(join(fresh, 'etc/postgresql-common/createcluster.d'), { recursive: true });
  const setting = join(fresh, 'etc/postgresql-common/createcluster.d/tock.conf');
  appendFileSync(setting, 'create_main_cluster = false\n');
  await run(argv, { env, cwd: '/', stopWith: 'SIGKILL', ...(signal && { signal }) });
  for (const kept of ['var/cache/apt', 'var/lib/apt/lists']) {
    rmSync(join(fresh, kept), { recursive: true });
  }
  await run(['install', '-d', '-m', '755', databasesOf(fresh)]);
}

/** The folder with the Debian that has this PostgreSQL, made by debootstrap if need be; as root. */
export async function debianWith(major: number, say: Say, signal?: AbortSignal) {
  const { release, debian } = releases[major] ?? { release: '', debian: 0 };
  const root = join(home(), `debian-${debian}`);
  const packages = [`postgresql-${major}`, `postgresql-${major}-cron`, 'pgbouncer'];
  await completeFolder(root, `1 ${release} ${packages.join(' ')}\n`, say, async (fresh) => {
    if (!['sbin/debootstrap', keyring, 'bin/gpgv'].every((one) => existsSync(`/usr/${one}`))) {
      await aptUpdate(say, signal);
      await aptInstall(say, ['debootstrap', 'debian-archive-keyring', 'gpgv'], signal);
    }
    const what = `Making a folder with Debian ${debian} and its PostgreSQL ${major}`;
    await say.step(`${what} (debootstrap, about a minute)`, () =>
      bootstrap(fresh, release, packages, signal),
    );
  });
  const bin = `${root}/usr/lib/postgresql/${major}/bin`;
  const installed: Installed = { major, bin, cron: true, pgbouncer: `${root}/usr/sbin/pgbouncer` };
  return { root, debian, installed };
}

// A link to the root under the path that the folder has outside; relative, so that from outside too
// it leads to the folder and nowhere else. Ways there may be closed: root's home is.
const selfLink = `umask 022
way=$(dirname "$1")
mkdir -p "$way"
[ -L "$1" ] || ln -sr / "$1" || [ -L "$1" ]
while [ "$way" != / ]; do chmod a+x "$way"; way=$(dirname "$way"); done`;

/**
 * Lets the folder be entered as a root: its paths mean the same inside as outside, and its
 * PostgreSQL finds the user by name. Two at once do no harm.
 */
export async function makeEnterable(root: string, user: DatabaseUser): Promise<void> {
  const env = { ...process.env, ...path };
  await run(['chroot', root, 'sh', '-ec', selfLink, 'sh', root], { env });
  const users = join(root, 'etc/passwd');
  const known = readFileSync(users, 'utf8').split('\n');
  if (known.some((line) => line.split(':')[2] === String(user.uid))) return;
  appendFileSync(users, `tock:x:${user.uid}:${user.gid}::/:/usr/sbin/nologin\n`);
}
