import { existsSync, readFileSync } from 'node:fs';
import { releases } from './debian.ts';
import { dockerAnswers } from './engine.ts';
import { builds } from './npm.ts';
import { installedPostgres } from './packages.ts';

/** The possible origins of a PostgreSQL version on this machine. */
export type PostgresSource = 'system' | 'docker' | 'debian' | 'npm';

function isDebian(): boolean {
  if (process.env.TOCK_DEBIAN_MIRROR) return true;
  return /^ID=debian$/m.test(readFileSync('/etc/os-release', 'utf8'));
}

/** Returns why a Debian folder cannot be built here; null if it can. */
export function noDebian(major: number): string | null {
  const { debian } = releases[major] ?? {};
  const docker = 'or start a Docker engine';
  const what = `PostgreSQL ${major} with pg_cron is built from Debian ${debian}`;
  if (process.platform !== 'linux' || !existsSync('/usr/bin/apt-get')) {
    return `${what}, by debootstrap and apt, which this system does not have: use a system that has them, ${docker}.`;
  }
  if (process.getuid?.() !== 0) return `${what} in a folder, as root: use sudo, ${docker}.`;
  if (isDebian()) return null;
  return `${what}, and no apt source has that release: set TOCK_DEBIAN_MIRROR to a mirror of Debian, ${docker}.`;
}

function noNpm(major: number): string | null {
  const { integrity = {} } = builds[major] ?? {};
  const gnu = existsSync('/lib64/ld-linux-x86-64.so.2') || existsSync('/lib/ld-linux-aarch64.so.1');
  if (process.platform === 'linux' && integrity[process.arch] && gnu) return null;
  return `The programs of PostgreSQL ${major} come from npm, for Linux with glibc on x64 and arm64: use such a system.`;
}

/** The origin of a PostgreSQL version on this machine, or why there is none and what to do. */
export async function findPostgresSource(
  major: number,
): Promise<{ source: PostgresSource } | { cannot: string }> {
  if (installedPostgres(major)) return { source: 'system' };
  if (releases[major] && (await dockerAnswers())) return { source: 'docker' };
  if (releases[major]) {
    const cannot = noDebian(major);
    return cannot ? { cannot } : { source: 'debian' };
  }
  if (!builds[major]) return { cannot: `PostgreSQL ${major} is not supported: use 15 to 18.` };
  const cannot = noNpm(major);
  return cannot ? { cannot } : { source: 'npm' };
}
