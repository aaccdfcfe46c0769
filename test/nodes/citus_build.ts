import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildFolder } from '../../scripts/stack/build_folder.ts';
import { type Installed, installedPgbouncer } from '../../scripts/stack/packages.ts';
import { home } from '../../scripts/stack/paths.ts';
import { run } from '../../scripts/stack/run.ts';
import { softly } from '../../scripts/stack/step_reporter.ts';

// The newest release that takes PostgreSQL 15. Citus is AGPL-3.0: neither its source nor its program comes into the
// repository.
const release = 'v13.2.2';
const major = 15;
const system = { bin: `/usr/lib/postgresql/${major}`, share: `/usr/share/postgresql/${major}` };

/** Why there is no Citus for the tests; null if there is one. */
export function noCitus(): string | null {
  if (process.env.TOCK_TEST_CITUS) return null;
  const source = process.env.TOCK_CITUS_SOURCE;
  if (!source) {
    return 'set TOCK_TEST_CITUS to a folder whose bin/ has PostgreSQL with Citus, or TOCK_CITUS_SOURCE to a tarball or git folder of Citus';
  }
  if (existsSync(`${system.bin}/bin/pg_config`)) return null;
  return `to build Citus: apt-get install postgresql-${major} postgresql-server-dev-${major} liblz4-dev libzstd-dev libssl-dev make gcc`;
}

const macro = 'src/include/pg_version_compat.h';

/** PostgreSQL 15 exports this function since a late minor release, and the release defines it again. */
function patch(source: string): void {
  const path = join(source, macro);
  const own = /static inline bool\s+have_createdb_privilege\(void\)\s*\{[\s\S]*?\n\}\n/;
  const text = readFileSync(path, 'utf8');
  writeFileSync(path, text.replace(own, 'extern bool have_createdb_privilege(void);\n'));
}

async function unpack(source: string, target: string): Promise<void> {
  mkdirSync(target);
  if (statSync(source).isFile()) {
    await run(['tar', '-xf', source, '-C', target, '--strip-components=1']);
    return;
  }
  const archive = `${target}.tar`;
  await run(['git', '-C', source, 'archive', '-o', archive, release]);
  await run(['tar', '-xf', archive, '-C', target]);
}

/** Builds Citus into a copy of the system's PostgreSQL, which finds its files relative to its program. */
async function build(fresh: string, source: string): Promise<void> {
  const unpacked = join(fresh, 'src');
  await unpack(source, unpacked);
  patch(unpacked);
  const env = { ...process.env, PG_CONFIG: `${system.bin}/bin/pg_config` };
  const options = { cwd: unpacked, env };
  await run(['./configure', '--without-libcurl', '--silent'], options);
  await run(['make', '-s', '-j2', 'with_llvm=no', 'extension'], options);
  for (const path of Object.values(system)) {
    mkdirSync(join(fresh, path, '..'), { recursive: true });
    await run(['cp', '-a', path, join(fresh, path)]);
  }
  await run(['make', '-s', 'with_llvm=no', 'install-extension', `DESTDIR=${fresh}`], options);
  await run(['rm', '-rf', unpacked, `${unpacked}.tar`]);
}

/** A PostgreSQL with Citus: the given one, or one that is built once, in about two minutes. */
export async function citus(): Promise<Installed> {
  const given = process.env.TOCK_TEST_CITUS;
  const installed = (bin: string) => ({ major, bin, cron: false, pgbouncer: installedPgbouncer() });
  if (given) return installed(join(given, 'bin'));
  const folder = join(home(), `citus-${release}-${major}`);
  const source = process.env.TOCK_CITUS_SOURCE ?? '';
  await buildFolder(folder, release, softly, (fresh) => build(fresh, source));
  return installed(join(folder, system.bin, 'bin'));
}
