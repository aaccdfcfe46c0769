import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

function listening(port: number): Promise<number | null> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(null));
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address ? address.port : null));
    });
  });
}

export async function isFree(port: number): Promise<boolean> {
  return (await listening(port)) !== null;
}

const preferences = { PostgreSQL: 5433, PgBouncer: 6433, Worker: 8787 };

/**
 * The first free port on 127.0.0.1, from the default port upwards. TOCK_POSTGRESQL_PORT, TOCK_PGBOUNCER_PORT and
 * TOCK_WORKER_PORT replace the defaults. A note tells if the port is another one.
 */
export async function freePort(
  program: keyof typeof preferences,
  note: (text: string) => void,
): Promise<number> {
  const preferred =
    Number(process.env[`TOCK_${program.toUpperCase()}_PORT`]) || preferences[program];
  for (let port = preferred; port < preferred + 100; port++) {
    if ((await listening(port)) === null) continue;
    if (port !== preferred) note(`port ${preferred} is taken: ${program} uses ${port}`);
    return port;
  }
  throw new Error(`No free port for ${program} from ${preferred} to ${preferred + 99}. Free one.`);
}

/**
 * A free port on 127.0.0.1, for tests. It is below the ports that systems give to outgoing connections: one of those
 * could take the port before the program that is started listens on it.
 */
export async function anyPort(): Promise<number> {
  for (let attempt = 0; attempt < 100; attempt++) {
    const port = randomInt(10_000, 32_768);
    if (await isFree(port)) return port;
  }
  throw new Error('No free port on 127.0.0.1 from 10000 to 32767.');
}
