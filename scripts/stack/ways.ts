import { existsSync, readFileSync } from 'node:fs';
import { releases } from './debian.ts';
import { dockerAnswers } from './engine.ts';
import { builds } from './npm.ts';
import { installedPostgres } from './packages.ts';

/** Where a PostgreSQL of a given version can come from on this machine. */
export type Way = 'system' | 'docker' | 'debian' | 'npm';

function isDebian(): boolean {
  if (process.env.TOCK_DEBIAN_MIRROR) return true;
  return /^ID=debian$/m.test(readFileSync('/etc/os-release', 'utf8'));
}

/** Why there can be no Debian in a folder here, or null when there can. */
export function noDebian(major: number): string | null {
  const { debian } = releases[major] ?? {};
  const docker = 'or start a Docker engine';
  const what = `PostgreSQL ${major} with pg_cron is made from Debian ${debian}`;
  if (process.platform !== 'linux' || !existsSync('/usr/bin/apt-get')) {
    return `${what}, by debootstrap and apt, which this system has not: use one that has, ${docker}.`;
  }
  if (process.getuid?.() !== 0) return `${what} in a folder, as root: use sudo, ${docker}.`;
  if (isDebian()) return null;
  return `${what}, and no source of apt has that: set TOCK_DEBIAN_MIRROR to a mirror of Debian, ${docker}.`;
}

function noNpm(major: number): string | null {
  const { integrity = {} } = builds[major] ?? {};
  const gnu = existsSync('/lib64/ld-linux-x86-64.so.2') || existsSync('/lib/ld-linux-aarch64.so.1');
  if (process.platform === 'linux' && integrity[process.arch] && gnu) return null;
  return `The programs of PostgreSQL ${major} come from npm, for Linux with glibc on x64 and arm64: use such a system.`;
}

/** How PostgreSQL of this version can be had here, or why it can't and what to do. */
export async function wayTo(major: number): Promise<{ way: Way } | { cannot: string }> {
  if (installedPostgres(major)) return { way: 'system' };
  if (releases[major] && (await dockerAnswers())) return { way: 'docker' };
  if (releases[major]) {
    const cannot = noDebian(major);
    return cannot ? { cannot } : { way: 'debian' };
  }
  if (!builds[major]) return { cannot: `No PostgreSQL ${major} is known: it is 15 to 18.` };
  const cannot = noNpm(major);
  return cannot ? { cannot } : { way: 'npm' };
}
