import { toArchive, wantArchive } from '../archive/step.ts';
import { type Consumers, logError } from '../consumers/drain.ts';
import type { Connect } from '../database/types.ts';
import type { Bindings } from '../env.ts';
import { alarmCycle } from './cycle.ts';

/** What of a Durable Object's state is needed. */
export type AlarmState = {
  storage: {
    getAlarm(): Promise<number | null>;
    setAlarm(at: number): Promise<void>;
    deleteAlarm(): Promise<void>;
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
/** When it rings again should it be killed at work: more than a ring takes. */
const KILLED_MS = 60_000;
/** So many rings for what has passed already may be of use: duties have a time of their own, ten seconds at most. */
const LATE_RINGS = 10;
/** From one look whether history is to go to the archive to the next; no ring is for that alone, but for more of it. */
const ARCHIVE_MS = 60_000;

/** Rings without success until now, and those for one time that has passed; kept, as an idle object is dropped. */
type Past = { failures: number; late: number; passed_at: string | null };
const unharmed: Past = { failures: 0, late: 0, passed_at: null };

const backoff = (times: number) =>
  Math.min(LONGEST_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** Math.min(20, times));

/**
 * The Durable Object that wakes the database when something is due, and only then: its alarm is next_wake_at().
 * The alarm is kept in its storage. It never throws, for Cloudflare would give up after six times, and has another set
 * while it is at work, for the same is true of one that is killed.
 */
export function alarmOf(connect: Connect, consumers: Consumers, seconds: number): AlarmClass {
  return class Alarm implements AlarmObject {
    readonly #storage: AlarmState['storage'];
    readonly #env: Bindings;
    #past: Past = unharmed;
    #wantsArchive = false;
    #archivedAt = Number.NEGATIVE_INFINITY;

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
      const ifKilled = started + KILLED_MS;
      await this.#storage.setAlarm(ifKilled);
      const past = ((await this.#storage.get('past')) as Past | undefined) ?? unharmed;
      this.#past = { ...past };
      if (!this.#wantsArchive) {
        await wantArchive(connect, this.#env).then(() => {
          this.#wantsArchive = true;
        }, logError);
      }
      const next = earlier(await this.#ring(), await this.#archive());
      if (Object.entries(this.#past).some(([name, value]) => past[name as keyof Past] !== value)) {
        await this.#storage.put('past', this.#past);
      }
      const again = ((await this.#storage.get('again')) as number | undefined) ?? null;
      if (again !== null && again <= started) await this.#storage.delete('again');
      const after = again !== null && again > started ? again : null;
      const held = await this.#storage.getAlarm();
      const at = [next, after].reduce<number | null>(earlier, held === ifKilled ? null : held);
      if (at === null) await this.#storage.deleteAlarm();
      else if (at !== held) await this.#storage.setAlarm(at);
    }

    /** When to ring again. */
    async #ring(): Promise<number | null> {
      try {
        const { ms, passed_at, errors } = await alarmCycle(connect, this.#env, consumers, seconds);
        for (const error of errors) logError(error);
        const next = ms === null ? null : this.#unlessStuck(ms, passed_at);
        const at = next === null ? null : Date.now() + next + AFTER_MS;
        return errors.length > 0 ? earlier(at, this.#failed()) : this.#worked(at);
      } catch (error) {
        logError(error);
        return this.#failed();
      }
    }

    /** When to ring for what is left of it. */
    async #archive(): Promise<number | null> {
      if (Date.now() < this.#archivedAt + ARCHIVE_MS) return null;
      this.#archivedAt = Date.now();
      const more = await toArchive(connect, this.#env).catch((error) => {
        logError(error);
        return true;
      });
      return more ? this.#archivedAt + ARCHIVE_MS : null;
    }

    #worked(at: number | null): number | null {
      this.#past.failures = 0;
      return at;
    }

    #failed(): number {
      return Date.now() + backoff(this.#past.failures++);
    }

    /** What stays due whatever a ring does, as its duty fails, keeps no database awake. */
    #unlessStuck(ms: number, passed_at: string | null): number {
      const same = passed_at !== null && passed_at === this.#past.passed_at;
      const late = same ? this.#past.late + 1 : 0;
      Object.assign(this.#past, { late, passed_at });
      return late < LATE_RINGS ? ms : Math.max(ms, backoff(late - LATE_RINGS));
    }
  };
}

const earlier = (a: number | null, b: number | null) =>
  a === null || b === null ? (a ?? b) : Math.min(a, b);
