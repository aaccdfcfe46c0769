import { answer, createRoutes } from './memory/routes.ts';
import { createStore } from './memory/store.ts';
import { createTock, type Tock } from './tock.ts';
import type { AnyQueues } from './types.ts';
import type { Handlers } from './worker/handlers.ts';
import type { WorkCounts } from './worker/work.ts';

export type TestTock<Q = AnyQueues> = Tock<Q> & {
  /** Runs handlers until no task is ready at the current time. */
  drain(handlers: Handlers<Q>): Promise<WorkCounts>;
  /** Advances the clock: delays and backoffs become due, and leases expire. */
  advance(seconds: number): void;
  now(): Date;
};

/**
 * A Tock in memory for unit tests: the real client with the server in its fetch. It supports payloads, delays,
 * priorities, tenants, attempts and backoff, unique keys (keep), leases, results, cancels, steps and events. It refuses
 * other options.
 */
export function createTestTock<Q = AnyQueues>({ now = new Date() } = {}): TestTock<Q> {
  let clock = now.getTime();
  const store = createStore(() => clock);
  const routes = createRoutes(store);
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
      store.advance();
    },
    now: () => new Date(clock),
  };
}
