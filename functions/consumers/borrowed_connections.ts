import type { Connect } from '../database/types.ts';
import type { Bindings } from '../env.ts';
import { type OpenConnection, openConnection } from './serial_connection.ts';

/** Keeps a request's connection open after its response, so that the drain that follows need not open another. */
export type BorrowedConnections = {
  connect: Connect;
  /** Bindings of one request, whose connection stays open. */
  lend(env: Bindings): Bindings;
  connectionOf(env: Bindings): OpenConnection | undefined;
  /** Marks the connection as taken: the drain that uses it closes it. */
  taken(env: Bindings): void;
  /** Closes a connection that was not taken. */
  settle(env: Bindings): Promise<unknown>;
};

export function borrowedConnections(connect: Connect): BorrowedConnections {
  const all = new WeakMap<Bindings, OpenConnection | null>();
  return {
    async connect(env, use) {
      if (!all.has(env)) return connect(env, use);
      const connection = await openConnection(connect, env);
      all.set(env, connection);
      return use(connection.query, connection.max);
    },
    lend(env) {
      const requestEnv = { ...env };
      all.set(requestEnv, null);
      return requestEnv;
    },
    connectionOf: (env) => all.get(env) ?? undefined,
    taken: (env) => void all.delete(env),
    async settle(env) {
      const connection = all.get(env);
      connection?.close();
      await connection?.closed.catch(() => {});
    },
  };
}
