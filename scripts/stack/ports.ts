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
 * The first free port on 127.0.0.1 from the usual one upwards (TOCK_POSTGRESQL_PORT,
 * TOCK_PGBOUNCER_PORT and TOCK_WORKER_PORT say otherwise); says so when it isn't the usual one.
 */
export async function freePort(
  what: keyof typeof preferences,
  note: (text: string) => void,
): Promise<number> {
  const preferred = Number(process.env[`TOCK_${what.toUpperCase()}_PORT`]) || preferences[what];
  for (let port = preferred; port < preferred + 100; port++) {
    if ((await listening(port)) === null) continue;
    if (port !== preferred) note(`port ${preferred} is taken: ${what} takes ${port}`);
    return port;
  }
  throw new Error(`No free port for ${what} from ${preferred} to ${preferred + 99}. Free one.`);
}

/** Some free port on 127.0.0.1, for tests. */
export async function anyPort(): Promise<number> {
  const port = await listening(0);
  if (port === null) throw new Error('No free port on 127.0.0.1.');
  return port;
}
