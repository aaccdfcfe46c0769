import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { databasesOf, debianWith, makeEnterable } from './debian.ts';
import { dockerAnswers } from './engine.ts';
import type { Host, HostOptions } from './host.ts';
import { machine } from './machine.ts';
import { npmPostgres } from './npm.ts';
import { type Installed, installedPostgres, packaged } from './packages.ts';
import { databaseFolder, databaseParent, passingFolder } from './place.ts';
import { type DatabaseUser, databaseUser, ownFolder } from './user.ts';
import { noDebian, wayTo } from './ways.ts';

const folderOf = ({ kept, name }: HostOptions, user: DatabaseUser) =>
  kept ? databaseFolder(name, user) : passingFolder(name, user);

const systems = "from the system's packages";

/** The installed PostgreSQL of the version that made the folder's data, if both are there. */
function sameAs(folder: string): Installed | null {
  const path = join(folder, 'data', 'PG_VERSION');
  return existsSync(path) ? installedPostgres(Number(readFileSync(path, 'utf8'))) : null;
}

async function inDocker(options: HostOptions): Promise<Host | null> {
  const { container } = await import('./container.ts');
  return container(options);
}

async function inFolder(options: HostOptions, major: number): Promise<Host> {
  const { say, signal, name } = options;
  const cannot = noDebian(major);
  if (cannot) throw new Error(cannot);
  const { root, debian, installed } = await debianWith(major, say, signal);
  const user = await databaseUser();
  await makeEnterable(root, user);
  const folder = join(databasesOf(root), name);
  ownFolder(folder, user);
  const origin = `of Debian ${debian} in a folder`;
  return machine({ installed, origin, user, folder, root, signal });
}

async function fromNpm(options: HostOptions, major: number): Promise<Host> {
  const { say, signal } = options;
  const user = await databaseUser();
  const installed = await npmPostgres(major, await databaseParent(user), say, signal);
  const folder = await folderOf(options, user);
  return machine({ installed, origin: 'from npm', user, folder, signal });
}

async function ofVersion(options: HostOptions, major: number): Promise<Host> {
  const { say, signal } = options;
  // The database user and PgBouncer are the system's, wherever PostgreSQL itself is from.
  const mayInstall = process.getuid?.() === 0 && !(await dockerAnswers());
  if (mayInstall) await packaged(say, signal);
  const found = await wayTo(major);
  if ('cannot' in found) throw new Error(found.cannot);
  if (found.way === 'npm') return fromNpm(options, major);
  const host = found.way === 'docker' ? await inDocker(options) : null;
  if (host) return host;
  const installed = installedPostgres(major);
  if (!installed) return inFolder(options, major);
  const user = await databaseUser();
  const folder = await folderOf(options, user);
  return machine({ installed, origin: systems, user, folder, signal });
}

/**
 * A place to run PostgreSQL: a Docker engine's container, else the system's packages. Tests are told
 * by TOCK_TEST_POSTGRES to have another version.
 */
export async function openHost(options: HostOptions): Promise<Host> {
  const { say, signal } = options;
  const asked = options.kept ? undefined : Number(process.env.TOCK_TEST_POSTGRES) || undefined;
  const major = options.postgres ?? asked;
  if (major) return ofVersion({ ...options, postgres: major }, major);
  const host = (await dockerAnswers()) ? await inDocker(options) : null;
  if (host) return host;
  const installed = await packaged(say, signal);
  const user = await databaseUser();
  const folder = await folderOf(options, user);
  return machine({ installed: sameAs(folder) ?? installed, origin: systems, user, folder, signal });
}
