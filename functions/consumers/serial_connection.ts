import type { Connect, Query } from '../database/types.ts';
import type { Bindings } from '../env.ts';

/** A way to the database for a while: statements one after another, and a new connection after one that broke. */
export type SerialConnection = {
  query: Query;
  /** How many statements may still be sent. */
  left(): number;
  close(): Promise<void>;
};

/** What connect() has opened, until close(). */
export type Open = { query: Query; most: number; close(): void; closed: Promise<unknown> };

const broken = (error: unknown) => /^(08|57P0)/.test((error as { code?: string }).code ?? '');

// Not one of those that ask() repeats.
const over = () =>
  Object.assign(new Error('This Worker may send no more statements.'), { code: '54000' });

export function open(connect: Connect, env: Bindings): Promise<Open> {
  return new Promise((resolve, reject) => {
    const closed = connect(env, async (query, most = Number.POSITIVE_INFINITY) => {
      // Some ways are open at once.
      await null;
      return new Promise<void>((close) => resolve({ query, most, close, closed }));
    });
    closed.catch(reject);
  });
}

/** Begins with `first`, if it is given, and closes that too. */
export function serialConnection(connect: Connect, env: Bindings, first?: Open): SerialConnection {
  let last: Promise<unknown> = Promise.resolve();
  let at: Promise<Open> | null = first ? Promise.resolve(first) : null;
  let sent = 0;
  let most = Number.POSITIVE_INFINITY;
  let ended = false;

  function drop(): Promise<unknown> | undefined {
    const was = at;
    at = null;
    return was?.then(
      ({ close, closed }) => {
        close();
        return closed.catch(() => {});
      },
      () => {},
    );
  }

  async function send(text: string, values?: unknown[]) {
    if (ended) throw over();
    try {
      at ??= open(connect, env);
      const way = await at;
      most = way.most;
      if (ended || sent >= most) throw over();
      sent++;
      return await way.query(text, values);
    } catch (error) {
      if (broken(error)) void drop();
      throw error;
    }
  }

  return {
    query(text, values) {
      const answer = last.then(() => send(text, values));
      last = answer.catch(() => {});
      return answer;
    },
    left: () => most - sent,
    async close() {
      ended = true;
      await drop();
    },
  };
}
