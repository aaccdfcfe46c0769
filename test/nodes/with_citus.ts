import { afterAll, beforeAll, expect, test } from 'vitest';
import { tock } from '../cli/tock.ts';
import { noCitus } from './citus_build.ts';
import { type Server, startServers } from './citus_cluster.ts';

/**
 * Servers with Citus for the tests of a file: the coordinator, which is the first, and servers that become nodes. `here`
 * is a test that is skipped if there is no Citus.
 */
export function withCitus(what: string, count: number, prepare: () => Promise<void>) {
  const cannot = noCitus();
  if (cannot) test.skip(`${what}: ${cannot}`, () => {});
  const servers: Server[] = [];
  const replaced: Server[] = [];
  beforeAll(async () => {
    if (cannot) return;
    servers.push(...(await startServers(count)));
    await prepare();
  }, 600_000);
  afterAll(() => Promise.all([...servers, ...replaced].map((server) => server.remove())));

  const server = (n: number) => servers[n] as Server;
  const nameOf = (node: number) => `127.0.0.1:${server(node).port}`;
  /** Runs a command of the CLI at the coordinator. */
  const run = (...args: string[]) => tock(args, { env: { DATABASE_URL: server(0).url } });
  /** Like run(), and returns what it printed. */
  const cli = async (...args: string[]) => {
    const outcome = await run(...args);
    expect(outcome).toMatchObject({ code: 0, err: '' });
    return outcome.out;
  };
  return {
    here: test.skipIf(cannot !== null),
    server,
    /** Another server has taken the place of one. */
    replace(n: number, by: Server) {
      replaced.push(server(n));
      servers[n] = by;
    },
    nameOf,
    run,
    cli,
    place: (queue: string, node: number) => cli('nodes', 'place', queue, nameOf(node)),
  };
}

export type Citus = ReturnType<typeof withCitus>;
