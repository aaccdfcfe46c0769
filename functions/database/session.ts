import { END_MS } from '../timeouts.ts';
import { withSqlstate } from './errors.ts';
import type { Query } from './types.ts';

/** What pg's client and Neon's have in common. */
type Client = {
  connect(): Promise<unknown>;
  query(text: string, values?: unknown[]): Promise<{ rows: Record<string, unknown>[] }>;
  end(): Promise<void>;
  on(event: 'error' | 'end', listener: () => void): unknown;
};

type Open = { client: Client; over: Promise<void> };

/** Waits no longer than it takes: a dead network must not hold the answer up. */
async function end({ client, over }: Open): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, END_MS);
  });
  // Neon's client never answers end() when its WebSocket has closed before.
  await Promise.race([client.end().catch(() => {}), over, late]);
  clearTimeout(timer);
}

async function connected(make: () => Client): Promise<Open> {
  let open: Open | undefined;
  try {
    const client = make();
    open = { client, over: new Promise((resolve) => client.on('end', resolve)) };
    // A connection that breaks between two statements is told by the next one.
    client.on('error', () => {});
    await client.connect();
    return open;
  } catch (error) {
    if (open) await end(open);
    throw withSqlstate(error, '08001');
  }
}

/** Workers share no socket between requests, so each opens and closes its own. */
export async function session<T>(
  make: () => Client,
  use: (query: Query) => Promise<T>,
): Promise<T> {
  const open = await connected(make);
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
