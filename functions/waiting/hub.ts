/** The names under which calls wait: for tasks of a queue, or for the end of a task. */
export const queueChange = (queue: string) => `queue/${queue}`;
export const taskChange = (id: string) => `task/${id}`;

/** The version to send with the next call, and whether a name has changed after the version of this call. */
export type Change = { version: string; changed: boolean };

/** Where waiting calls wait for the calls that concern them. */
export type Hub = {
  /** Resolves at a change of one of the names after `since`, or after `ms`. With `since` null it resolves at once. */
  next(
    names: readonly string[],
    since: string | null,
    ms: number,
    signal: AbortSignal,
  ): Promise<Change>;
};

/** After a change of anything, the next one wakes calls after this time at the earliest. */
const SPREAD_MS = 20;
/** So many names have a version of their own. */
const MAX_NAMES = 10_000;
/** A worker waits again soon after it was woken. */
const RECENT_MS = 2000;
/** A call that was woken and found something wakes so many others: there may be more. */
const PASS_ON = 2;

type Waiter = () => void;

/**
 * A hub in memory. A change wakes one call of a name, because one task is enough for one call; if it finds a task it
 * passes the change on. A change that has woken nobody, because all calls were looking at that moment, ends the next
 * wait at once. After a restart all versions are unknown.
 */
export class LocalHub implements Hub {
  #created = '';
  #version = 0;
  /** The version of the last change of anything, and of single names. */
  #last = 0;
  readonly #changed = new Map<string, number>();
  /** Up to which version a call has been woken for a name. If it finds something it passes it on, so the others wait. */
  readonly #handled = new Map<string, number>();
  readonly #waiting = new Map<string, Set<Waiter>>();
  #waited_at = Number.NEGATIVE_INFINITY;
  #spread: ReturnType<typeof setTimeout> | null = null;
  #spread_at = Number.NEGATIVE_INFINITY;

  /** Made at the first use, because a Worker may not make it at its start. */
  get #id(): string {
    this.#created ||= crypto.randomUUID();
    return this.#created;
  }

  /** Whether any call waits, or has waited a moment ago. */
  get isWaitedFor(): boolean {
    return this.#waiting.size > 0 || performance.now() < this.#waited_at + RECENT_MS;
  }

  /** Tells of a change of some names, or with null of anything. */
  announce(names: readonly string[] | null): void {
    this.#version++;
    if (names === null || this.#changed.size + names.length > MAX_NAMES) {
      this.#changed.clear();
      this.#last = this.#version;
      this.#wakeEach();
    }
    for (const name of names ?? []) {
      this.#changed.set(name, this.#version);
      this.#wake(name, 1);
    }
  }

  /** Wakes others for the names. If too few wait now, the next calls that come do not wait. */
  passOn(names: readonly string[]): void {
    for (const name of names)
      if (this.#wake(name, PASS_ON) < PASS_ON) this.#changed.set(name, ++this.#version);
  }

  next(names: readonly string[], since: string | null, ms: number, signal: AbortSignal) {
    const [id, seen] = (since ?? '').split('.');
    const hasChanged = () =>
      id !== this.#id || names.some((name) => this.#isUnhandled(name, Number(seen)));
    const change = (changed: boolean): Change => {
      if (changed) this.#handle(names);
      return { version: `${this.#id}.${this.#version}`, changed };
    };
    if (since === null || signal.aborted) return Promise.resolve(change(false));
    if (ms <= 0 || hasChanged()) return Promise.resolve(change(hasChanged()));
    return new Promise<Change>((resolve) => {
      const end = (changed: () => boolean) => {
        this.#waited_at = performance.now();
        clearTimeout(timer);
        signal.removeEventListener('abort', leave);
        for (const name of names) {
          const waiters = this.#waiting.get(name);
          waiters?.delete(wake);
          if (waiters?.size === 0) this.#waiting.delete(name);
        }
        resolve(change(changed()));
      };
      const wake = () => end(() => true);
      const leave = () => end(() => false);
      const timer = setTimeout(() => end(hasChanged), ms);
      signal.addEventListener('abort', leave);
      for (const name of names) {
        const waiters = this.#waiting.get(name) ?? new Set();
        this.#waiting.set(name, waiters.add(wake));
      }
    });
  }

  #isUnhandled(name: string, seen: number): boolean {
    const changed = Math.max(this.#last, this.#changed.get(name) ?? 0);
    return changed > Math.max(seen, this.#handled.get(name) ?? 0);
  }

  #handle(names: readonly string[]): void {
    if (this.#handled.size + names.length > MAX_NAMES) this.#handled.clear();
    for (const name of names) this.#handled.set(name, this.#version);
  }

  /** Wakes the calls that have waited longest; returns how many. */
  #wake(name: string, count: number): number {
    const waiters = [...(this.#waiting.get(name) ?? [])].slice(0, count);
    for (const wake of waiters) wake();
    return waiters.length;
  }

  /** Wakes one call of each name. Many changes at once wake it once. */
  #wakeEach(): void {
    if (this.#spread !== null) return;
    const wakeAll = () => {
      this.#spread = null;
      this.#spread_at = performance.now();
      for (const name of [...this.#waiting.keys()]) this.#wake(name, 1);
    };
    const delay_ms = this.#spread_at + SPREAD_MS - performance.now();
    if (delay_ms > 0) this.#spread = setTimeout(wakeAll, delay_ms);
    else wakeAll();
  }
}
