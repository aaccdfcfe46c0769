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

/** The first free port from `preferred` upwards on 127.0.0.1; says so when it isn't `preferred`. */
export async function freePort(
  preferred: number,
  what: string,
  note: (text: string) => void,
): Promise<number> {
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
