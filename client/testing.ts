import { answer, routesOf } from './memory/routes.ts';
import { createStore } from './memory/store.ts';
import { createTock, type Tock } from './tock.ts';
import type { AnyQueues } from './types.ts';
import type { Handlers } from './worker/handlers.ts';
import type { Worked } from './worker/work.ts';

export type TestTock<Q = AnyQueues> = Tock<Q> & {
  /** Runs handlers until nothing is ready at this time. */
  drain(handlers: Handlers<Q>): Promise<Worked>;
  /** Moves the clock: what was delayed or backs off becomes due, leases run out. */
  advance(seconds: number): void;
  now(): Date;
};

/**
 * A Tock in memory for unit tests: the client itself, with the server in its fetch. It knows payloads, delays, priorities,
 * tenants, attempts and backoff, unique keys that are kept, leases, results, cancels; other options it refuses.
 */
export function createTestTock<Q = AnyQueues>({ now = new Date() } = {}): TestTock<Q> {
  let clock = now.getTime();
  const store = createStore(() => clock);
  const routes = routesOf(store);
  const tock = createTock<Q>({
    url: 'http://tock.test',
    key: 'test',
    fetch: async (url, { method, body }) =>
      answer(
        store,
        routes,
        `${method} ${url.slice('http://tock.test'.length)}`,
        String(body ?? '{}'),
      ),
  });
  return {
    ...tock,
    drain: (handlers) => tock.work(handlers, { until: 'empty', worker: 'test' }),
    advance(seconds) {
      clock += seconds * 1000;
      store.settle();
    },
    now: () => new Date(clock),
  };
}
