import type { Bindings } from '../env.ts';
import type { Answer } from '../http/answer.ts';
import type { Change, Hub } from './hub.ts';

/** When a call looks again without a change: after this share of the time for which nothing was found. */
const SHARE = 0.2;
/** The shortest time from one look to the next. */
const LEAST_MS = 20;
/** A call looks so much later at random, as a share of that time. Otherwise all would look at the same moment. */
const JITTER = 0.4;
/** Maximum number of looks that are remembered. */
const MAX_LOOKS = 1000;

/** If the call that looks again for all is killed, another one looks after this time. */
const KILLED_MS = 1000;

/** A look that found nothing, as all looks since `idle_since` did. */
type Look = { version: string; at: number; next_at: number; idle_since: number; answer: Answer };

/** The looks of an isolate, by the key and what it asked for. A later call of the same kind need not look again. */
const looks = new Map<string, Look>();

/** True if a call has to look again. Then the others wait for what it finds. */
function isDue(look: Look): boolean {
  const now = Date.now();
  if (now < look.next_at) return false;
  look.next_at = now + KILLED_MS;
  return true;
}

function remember(name: string, look: Look): void {
  looks.delete(name);
  looks.set(name, look);
  if (looks.size > MAX_LOOKS) looks.delete(looks.keys().next().value as string);
}

/** What a waiting call waits for between two looks at the database. */
export type Changes = {
  /** The answer of a recent look of another call, if nothing has changed since. */
  recent(): Answer;
  /** Remembers a look that found nothing. Without a change the next one comes after `least_ms` at the earliest. */
  foundNothing(answer: Answer, least_ms: number): void;
  /** To be called when the call has found something: if a change woke it, others are woken too. */
  found(): void;
  /** To be called when the call cannot look: if a change woke it, others are woken in its place. */
  gaveUp(): void;
  /** Waits for a reason to look: true, or false if there was none until the deadline. */
  next(deadline: number, disconnected: AbortSignal): Promise<boolean>;
};

type Options = {
  hub: Hub;
  names: readonly string[];
  /** The longest time from one look to the next. */
  most_ms: number;
  /** Calls with the same name share their looks. */
  shared?: string;
  passOn(): void;
};

/** The longest time from one look of waiting calls at an idle queue to the next. */
export function idlePollMs({ TOCK_IDLE_POLL_SECONDS = '', ALARM }: Bindings): number {
  if (/^[1-9]\d{0,4}$/.test(TOCK_IDLE_POLL_SECONDS)) return Number(TOCK_IDLE_POLL_SECONDS) * 1000;
  return ALARM ? 600_000 : 1000;
}

export function createChanges({ hub, names, most_ms, shared, passOn }: Options): Changes {
  let own: Look | undefined;
  let woken = false;
  const look = () => (shared === undefined ? own : (looks.get(shared) ?? own));
  let version: string | null = null;
  let idle_since = Date.now();

  return {
    recent() {
      const last = look();
      if (!last) return undefined;
      ({ version, idle_since } = last);
      return isDue(last) ? undefined : last.answer;
    },
    foundNothing(answer, least_ms) {
      if (version === null) return;
      const at = Date.now();
      const share_ms = Math.max(LEAST_MS, least_ms, (at - idle_since) * SHARE);
      const next_at = at + Math.min(most_ms / (1 + JITTER), share_ms);
      own = { version, at, next_at, idle_since, answer };
      if (shared !== undefined) remember(shared, own);
    },
    found() {
      if (shared !== undefined) looks.delete(shared);
      if (woken) passOn();
    },
    gaveUp() {
      if (woken) passOn();
    },
    async next(deadline, disconnected) {
      for (;;) {
        const last = look();
        const jitter_ms = last ? (last.next_at - last.at) * JITTER * Math.random() : 0;
        const ms = Math.min(deadline, (last?.next_at ?? 0) + jitter_ms) - Date.now();
        const change: Change = await hub.next(names, version, ms, disconnected);
        const isFirst = version === null;
        version = change.version;
        if (isFirst) {
          const recent = look();
          if (!recent || isDue(recent)) return true;
          // Another call of the kind has just looked.
          ({ version } = recent);
          continue;
        }
        woken = change.changed;
        if (woken) return true;
        if (disconnected.aborted || Date.now() >= deadline) return false;
        const newest = look();
        if (!newest || isDue(newest)) return true;
      }
    },
  };
}
