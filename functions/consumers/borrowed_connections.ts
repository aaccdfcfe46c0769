import type { Connect } from '../database/types.ts';
import type { Bindings } from '../env.ts';
import { type Open, open } from './serial_connection.ts';

/** Connections that outlive their answer: whoever goes on with what was enqueued need not open another. */
export type BorrowedConnections = {
  connect: Connect;
  /** Bindings of one request, whose connection stays open. */
  lend(env: Bindings): Bindings;
  of(env: Bindings): Open | undefined;
  /** It is somebody's now, who closes it. */
  taken(env: Bindings): void;
  /** Closes what nobody has taken. */
  settle(env: Bindings): Promise<unknown>;
};

export function borrowedConnections(connect: Connect): BorrowedConnections {
  const all = new WeakMap<Bindings, Open | null>();
  return {
    async connect(env, use) {
      if (!all.has(env)) return connect(env, use);
      const way = await open(connect, env);
      all.set(env, way);
      return use(way.query, way.most);
    },
    lend(env) {
      const own = { ...env };
      all.set(own, null);
      return own;
    },
    of: (env) => all.get(env) ?? undefined,
    taken: (env) => void all.delete(env),
    async settle(env) {
      const way = all.get(env);
      way?.close();
      await way?.closed.catch(() => {});
    },
  };
}
