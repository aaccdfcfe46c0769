import type { Connect, Query } from '../database/types.ts';
import type { Bindings } from '../env.ts';

/** A database connection that sends one statement at a time, and reconnects after the connection broke. */
export type SerialConnection = {
  query: Query;
  /** Number of statements that may still be sent. */
  left(): number;
  close(): Promise<void>;
};

/** An open connection, until close(). */
export type OpenConnection = { query: Query; max: number; close(): void; closed: Promise<unknown> };

const isBroken = (error: unknown) => /^(08|57P0)/.test((error as { code?: string }).code ?? '');

/** An error whose code queryWithRetry() does not retry. */
const finalError = (message: string) => Object.assign(new Error(message), { code: '54000' });
const closedError = () => finalError('This connection is closed: its drain has ended.');
const limitError = (max: number) =>
  finalError(
    `This invocation has sent all ${max} statements that it may; the next drain continues.`,
  );

export function openConnection(connect: Connect, env: Bindings): Promise<OpenConnection> {
  return new Promise((resolve, reject) => {
    const closed = connect(env, async (query, max = Number.POSITIVE_INFINITY) => {
      // Some drivers call back synchronously.
      await null;
      return new Promise<void>((close) => resolve({ query, max, close, closed }));
    });
    closed.catch(reject);
  });
}

/** Uses the connection `first` if given; close() closes it too. */
export function serialConnection(
  connect: Connect,
  env: Bindings,
  first?: OpenConnection,
): SerialConnection {
  let last: Promise<unknown> = Promise.resolve();
  let current: Promise<OpenConnection> | null = first ? Promise.resolve(first) : null;
  let sent = 0;
  let max = Number.POSITIVE_INFINITY;
  let ended = false;

  function disconnect(): Promise<unknown> | undefined {
    const previous = current;
    current = null;
    return previous?.then(
      ({ close, closed }) => {
        close();
        return closed.catch(() => {});
      },
      () => {},
    );
  }

  async function send(text: string, values?: unknown[]) {
    if (ended) throw closedError();
    try {
      current ??= openConnection(connect, env);
      const connection = await current;
      max = connection.max;
      if (ended) throw closedError();
      if (sent >= max) throw limitError(max);
      sent++;
      return await connection.query(text, values);
    } catch (error) {
      if (isBroken(error)) void disconnect();
      throw error;
    }
  }

  return {
    query(text, values) {
      const answer = last.then(() => send(text, values));
      last = answer.catch(() => {});
      return answer;
    },
    left: () => max - sent,
    async close() {
      ended = true;
      await disconnect();
    },
  };
}
