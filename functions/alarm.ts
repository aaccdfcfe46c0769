import { type Consumers, logError } from './consumers/drain.ts';
import type { Bindings, Connect } from './query.ts';
import { ring } from './ring.ts';

/** What of a Durable Object's state is needed. */
export type AlarmState = {
  storage: {
    getAlarm(): Promise<number | null>;
    setAlarm(at: number): Promise<void>;
    get(key: string): Promise<unknown>;
    put(key: string, value: unknown): Promise<void>;
    delete(key: string): Promise<unknown>;
  };
};

export type AlarmObject = { fetch(): Promise<Response>; alarm(): Promise<void> };
export type AlarmClass = new (state: AlarmState, env: Bindings) => AlarmObject;

/** From what is heard to the ring for it: whoever tells says it only each half second. */
const SETTLE_MS = 1000;
/** Not before its time by the database's clock. */
const AFTER_MS = 5;
const FIRST_BACKOFF_MS = 1000;
const LONGEST_BACKOFF_MS = 5 * 60_000;

/**
 * The Durable Object that wakes the database when something is due, and only then: its alarm is next_wake_at().
 * The alarm is kept in its storage. It never throws: Cloudflare would give up after six times.
 */
export function alarmOf(connect: Connect, consumers: Consumers, seconds: number): AlarmClass {
  return class Alarm implements AlarmObject {
    readonly #storage: AlarmState['storage'];
    readonly #env: Bindings;
    #failures = 0;

    constructor({ storage }: AlarmState, env: Bindings) {
      this.#storage = storage;
      this.#env = env;
    }

    /** Hears that something may have become due sooner. */
    async fetch(): Promise<Response> {
      const at = Date.now() + SETTLE_MS;
      const held = await this.#storage.getAlarm();
      if (held === null || held > at) await this.#storage.setAlarm(at);
      // That ring may be too soon for what goes untold as this was told.
      else await this.#storage.put('again', at);
      return new Response(null, { status: 204 });
    }

    async alarm(): Promise<void> {
      const started = Date.now();
      const next = await this.#ring();
      const again = ((await this.#storage.get('again')) as number | undefined) ?? null;
      if (again !== null && again <= started) await this.#storage.delete('again');
      const after = again !== null && again > started ? again : null;
      const held = await this.#storage.getAlarm();
      const at = [next, after].reduce<number | null>(earlier, held);
      if (at !== null && at !== held) await this.#storage.setAlarm(at);
    }

    /** When to ring again. */
    async #ring(): Promise<number | null> {
      try {
        const ms = await ring(connect, this.#env, consumers, seconds);
        this.#failures = 0;
        return ms === null ? null : Date.now() + ms + AFTER_MS;
      } catch (error) {
        logError(error);
        const backoff = FIRST_BACKOFF_MS * 2 ** Math.min(20, this.#failures++);
        return Date.now() + Math.min(LONGEST_BACKOFF_MS, backoff);
      }
    }
  };
}

const earlier = (a: number | null, b: number | null) =>
  a === null || b === null ? (a ?? b) : Math.min(a, b);
