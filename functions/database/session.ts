import { END_MS } from '../timeouts.ts';
import { withSqlstate } from './errors.ts';
import type { Query } from './types.ts';

/** The common part of pg's client and Neon's. */
type Client = {
  connect(): Promise<unknown>;
  query(text: string, values?: unknown[]): Promise<{ rows: Record<string, unknown>[] }>;
  end(): Promise<void>;
  on(event: 'error' | 'end', listener: () => void): unknown;
};

type Open = { client: Client; over: Promise<void> };

/** Ends a connection with a time limit: a dead network must not delay the response. */
async function end({ client, over }: Open): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const timeout = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, END_MS);
  });
  // Neon's client never resolves end() if its WebSocket is already closed.
  await Promise.race([client.end().catch(() => {}), over, timeout]);
  clearTimeout(timer);
}

async function openConnection(createClient: () => Client): Promise<Open> {
  let open: Open | undefined;
  try {
    const client = createClient();
    open = { client, over: new Promise((resolve) => client.on('end', resolve)) };
    // Without a listener the event would end a Node process. The next statement reports the broken connection.
    client.on('error', () => {});
    await client.connect();
    return open;
  } catch (error) {
    if (open) await end(open);
    throw withSqlstate(error, '08001');
  }
}

/** Opens a connection for one request: Workers cannot share sockets between requests. */
export async function session<T>(
  createClient: () => Client,
  use: (query: Query) => Promise<T>,
): Promise<T> {
  const open = await openConnection(createClient);
  try {
    return await use(async (text, values) => {
      try {
        return (await open.client.query(text, values)).rows;
      } catch (error) {
        throw withSqlstate(error, '08006');
      }
    });
  } finally {
    await end(open);
  }
}
