import type pg from 'pg';
import { withDatabase } from '../../migrate/connect.ts';
import { Failure } from '../../migrate/failure.ts';
import type { Options } from '../output.ts';
import { databaseUrl } from '../settings.ts';
import { runStatement } from '../statement.ts';
import { checkCoordinator, checkDirectory, type Node, readNodes } from './directory.ts';

/** Connects to the coordinator. Only one command at a time changes the directory. */
export function atCoordinator<T>(
  options: Options,
  work: (client: pg.Client) => Promise<T>,
): Promise<T> {
  return withDatabase(
    databaseUrl(options),
    async (client) => {
      await checkCoordinator(client);
      const [lock] = await runStatement<{ taken: boolean }>(
        client,
        "select pg_catalog.pg_try_advisory_lock(pg_catalog.hashtextextended('tock:nodes', 0)) as taken",
      );
      if (!lock?.taken)
        throw new Failure(
          'Another command is changing the nodes of this cluster.',
          'Try again when it has ended.',
        );
      return work(client);
    },
    0,
  );
}

export const withNodes = <T>(
  options: Options,
  work: (client: pg.Client, nodes: Node[]) => Promise<T>,
): Promise<T> =>
  atCoordinator(options, async (client) => {
    await checkDirectory(client);
    return work(client, await readNodes(client));
  });
