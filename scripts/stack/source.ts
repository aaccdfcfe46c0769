import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { dockerAnswers } from './engine.ts';
import type { Host } from './host.ts';
import { machine } from './machine.ts';
import { type Installed, installedPostgres, packaged } from './packages.ts';
import { databaseFolder } from './place.ts';
import type { Say } from './say.ts';
import { databaseUser } from './user.ts';

export type HostOptions = {
  /** The folder's name in `.tock`, and the volume's in Docker. */
  name: string;
  /** The ports that a container must let through. */
  ports: number[];
  say: Say;
  signal?: AbortSignal;
  /** Whether data outlives the host. */
  kept: boolean;
};

/** The installed PostgreSQL of the version that made the folder's data, if both are there. */
function sameAs(folder: string): Installed | null {
  const path = join(folder, 'data', 'PG_VERSION');
  return existsSync(path) ? installedPostgres(Number(readFileSync(path, 'utf8'))) : null;
}

/** A place to run PostgreSQL: a Docker engine's container, else the system's packages. */
export async function openHost(options: HostOptions): Promise<Host> {
  const { say, signal, name } = options;
  if (await dockerAnswers()) {
    const { container } = await import('./container.ts');
    const host = await container(options);
    if (host) return host;
  }
  const installed = await packaged(say, signal);
  const user = await databaseUser();
  const folder = await databaseFolder(name, user);
  return machine(sameAs(folder) ?? installed, user, folder, signal);
}
