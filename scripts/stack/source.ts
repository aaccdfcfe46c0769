import { dockerAnswers } from './engine.ts';
import type { Host } from './host.ts';
import { machine } from './machine.ts';
import { packaged } from './packages.ts';
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
  /** The PostgreSQL that made the data, when there is data. */
  major?: number;
  /** Whether data outlives the host. */
  kept: boolean;
};

/** A place to run PostgreSQL: a Docker engine's container, else the system's packages. */
export async function openHost(options: HostOptions): Promise<Host> {
  const { say, signal, name } = options;
  if (await dockerAnswers()) {
    const { container } = await import('./container.ts');
    return container(options);
  }
  const installed = await packaged(say, signal, options.major);
  const user = await databaseUser();
  return machine(installed, user, await databaseFolder(name, user), signal);
}
