import { enableArchive, runArchive } from '../archive/step.ts';
import { type Consumers, logError } from '../consumers/drain.ts';
import type { Connect } from '../database/types.ts';
import type { Bindings } from '../env.ts';
import { LocalHub } from '../waiting/hub.ts';
import { alarmCycle } from './cycle.ts';
import type { Message } from './notify.ts';

/** The part of a Durable Object's state that the alarm uses. */
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

export type AlarmObject = { fetch(request: Request): Promise<Response>; alarm(): Promise<void> };
export type AlarmClass = new (state: AlarmState, env: Bindings) => AlarmObject;

/** Time from a notification to its alarm. A notifier sends one each half second at most; one alarm covers several. */
const SETTLE_MS = 1000;
/** Added to each alarm, so that a small difference of the clocks does not make it fire too early. */
const MARGIN_MS = 5;
const FIRST_BACKOFF_MS = 1000;
const MAX_BACKOFF_MS = 5 * 60_000;
/** If the object is killed during a run, its alarm fires again after this time, which is longer than any run. */
const RETRY_IF_KILLED_MS = 60_000;
/** After this many alarms in a row for the same passed time, the alarms back off. */
const MAX_LATE_ALARMS = 10;
/** Interval between checks for history to archive. No alarm is set for the check alone, only for remaining work. */
const ARCHIVE_MS = 60_000;

/** What a waiting call sends: see LocalHub.next(). */
type Waiting = { names: string[]; since: string | null; ms: number };

/** Failures in a row, and alarms in a row for one passed time. Stored, because Cloudflare evicts an idle object. */
type AlarmHistory = { failures: number; late: number; passed_at: string | null };
const noFailures: AlarmHistory = { failures: 0, late: 0, passed_at: null };

const backoff = (times: number) =>
  Math.min(MAX_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** Math.min(20, times));

/**
 * The Durable Object that wakes the database when work is due, and only then. Waiting calls wait in it, in memory. Its
 * storage keeps the alarm, set to next_wake_at(). alarm() catches the errors of its work, because Cloudflare stops
 * retrying after six failures. A run that is killed fails too, so alarm() sets the next alarm before it starts.
 */
export function createAlarm(connect: Connect, consumers: Consumers, seconds: number): AlarmClass {
  return class Alarm implements AlarmObject {
    readonly #storage: AlarmState['storage'];
    readonly #env: Bindings;
    #past: AlarmHistory = noFailures;
    readonly #hub = new LocalHub();
    #wantsArchive = false;
    #archivedAt = Number.NEGATIVE_INFINITY;
    /** The last `again` of this object that was stored. */
    #again_at = Number.NEGATIVE_INFINITY;

    constructor({ storage }: AlarmState, env: Bindings) {
      this.#storage = storage;
      this.#env = env;
    }

    /** A call that waits, or a message that work may be due before the pending alarm. */
    async fetch(request: Request): Promise<Response> {
      if (new URL(request.url).pathname === '/wait') {
        const { names, since, ms } = (await request.json()) as Waiting;
        return Response.json(await this.#hub.next(names, since, ms, request.signal));
      }
      const { changed, passOn } = (await request.json()) as Message;
      this.#hub.passOn(passOn);
      this.#hub.announce(changed);
      await this.#setEarlierAlarm();
      return Response.json({ waiting: this.#hub.isWaitedFor });
    }

    async #setEarlierAlarm(): Promise<void> {
      const at = Date.now() + SETTLE_MS;
      const scheduled = await this.#storage.getAlarm();
      if (scheduled === null || scheduled > at) await this.#storage.setAlarm(at);
      // The pending alarm may fire before work that no message tells of: that of an invocation which is killed before it
      // sends one, or of a consumer that tells only at its end. So another alarm follows. While calls wait there are
      // many messages, and the storage is written for few of them.
      else if (at > this.#again_at + SETTLE_MS / 2) {
        this.#again_at = at;
        await this.#storage.put('again', at);
      }
    }

    async alarm(): Promise<void> {
      const started = Date.now();
      const retryIfKilled = started + RETRY_IF_KILLED_MS;
      await this.#storage.setAlarm(retryIfKilled);
      const past = ((await this.#storage.get('past')) as AlarmHistory | undefined) ?? noFailures;
      this.#past = { ...past };
      if (!this.#wantsArchive) {
        await enableArchive(connect, this.#env).then(() => {
          this.#wantsArchive = true;
        }, logError);
      }
      const next = earlier(await this.#ring(), await this.#archive());
      if (
        Object.entries(this.#past).some(
          ([name, value]) => past[name as keyof AlarmHistory] !== value,
        )
      ) {
        await this.#storage.put('past', this.#past);
      }
      const again = ((await this.#storage.get('again')) as number | undefined) ?? null;
      if (again !== null && again <= started) await this.#storage.delete('again');
      const after = again !== null && again > started ? again : null;
      const scheduled = await this.#storage.getAlarm();
      const at = [next, after].reduce<number | null>(
        earlier,
        scheduled === retryIfKilled ? null : scheduled,
      );
      if (at === null) await this.#storage.deleteAlarm();
      else if (at !== scheduled) await this.#storage.setAlarm(at);
    }

    /** Runs a cycle and returns when to wake next. */
    async #ring(): Promise<number | null> {
      try {
        const onTick = () => this.#hub.announce(null);
        const { ms, passed_at, errors } = await alarmCycle(
          connect,
          this.#env,
          consumers,
          seconds,
          onTick,
        );
        for (const error of errors) logError(error);
        const next = ms === null ? null : this.#unlessStuck(ms, passed_at);
        const at = next === null ? null : Date.now() + next + MARGIN_MS;
        return errors.length > 0 ? earlier(at, this.#failed()) : this.#worked(at);
      } catch (error) {
        logError(error);
        return this.#failed();
      }
    }

    /** Archives for a limited time, and returns when to continue if work is left. */
    async #archive(): Promise<number | null> {
      if (Date.now() < this.#archivedAt + ARCHIVE_MS) return null;
      this.#archivedAt = Date.now();
      const more = await runArchive(connect, this.#env).catch((error) => {
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

    /** Backs off if the same work stays due, such as a failing maintenance job, so that the database can sleep. */
    #unlessStuck(ms: number, passed_at: string | null): number {
      const same = passed_at !== null && passed_at === this.#past.passed_at;
      const late = same ? this.#past.late + 1 : 0;
      Object.assign(this.#past, { late, passed_at });
      return late < MAX_LATE_ALARMS ? ms : Math.max(ms, backoff(late - MAX_LATE_ALARMS));
    }
  };
}

const earlier = (a: number | null, b: number | null) =>
  a === null || b === null ? (a ?? b) : Math.min(a, b);
