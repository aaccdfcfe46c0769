import type { Bindings } from '../env.ts';
import { isWorkers } from '../push/post.ts';
import { later, refusal } from './problem.ts';

/**
 * What a call is to those beside it in one isolate. Each share has its own places, so that a flood of one keeps none of
 * the others out; `ends` are calls that end or hold work, and are never turned away here. `waits` are claims and
 * looks that wait, `looks` the statements of those.
 */
export type Share = 'ends' | 'enqueues' | 'claims' | 'rest';
type Place = Exclude<Share, 'ends'> | 'waits' | 'looks' | 'pieces';

/** A burst of as many is harmless: test/consumers/worker.test.ts. */
const MOST = 300;
/** Who waits is asleep for most of the time; what it asks then must leave a pool of 20 connections to others. */
const times: Partial<Record<Place, number>> = { waits: 2, looks: 1 / 30, pieces: 4 / 3 };

/** A call's first piece of its body is free; of those that are large there are 400 further and 100 spare ones, 31 MiB: an isolate has 128 MB. */
const PIECE_BYTES = 64 * 1024;
const LEAST: Partial<Record<Place, number>> = { pieces: 160 };

/**
 * A place has as many again of this part of it for keys that hold less than this part: whoever takes all places, by one key, keeps
 * no other key out. Until its statement judges it a key may be anything; one that is not known is soon gone.
 */
const SPARE = 1 / 4;

/** No call takes as long: an invocation that was killed at work has not said that it left. */
const LIFE_MS = 120_000;

type Taken = { key: string; since: number };

const taken = new Map<Place, Map<symbol, Taken>>();

function mostOf(place: Place, { TOCK_MOST_AT_ONCE = '' }: Bindings): number {
  const most = /^[1-9]\d{0,5}$/.test(TOCK_MOST_AT_ONCE) ? Number(TOCK_MOST_AT_ONCE) : MOST;
  return Math.max(LEAST[place] ?? 1, most * (times[place] ?? 1));
}

/** Those inside, without those that can't be any more: they came in first. */
function inside(place: Place): Map<symbol, Taken> {
  const all = taken.get(place) ?? new Map<symbol, Taken>();
  taken.set(place, all);
  const longAgo = performance.now() - LIFE_MS;
  for (const [one, { since }] of all) {
    if (since > longAgo) break;
    all.delete(one);
  }
  return all;
}

/** Whether there is no place for a key. */
function isFull(place: Place, env: Bindings, key: string): boolean {
  const all = inside(place);
  const most = mostOf(place, env);
  if (all.size < most) return false;
  const spare = Math.ceil(most * SPARE);
  if (all.size >= most + spare) return true;
  let own = 0;
  for (const other of all.values()) if (other.key === key && ++own >= spare) return true;
  return false;
}

/** Takes a place for a key, where one is free; returns what gives it back. */
export function enter(
  place: Place,
  env: Bindings,
  key: string,
  gone?: AbortSignal,
): (() => void) | null {
  if (isFull(place, env, key)) return null;
  const all = inside(place);
  const one = Symbol();
  all.set(one, { key, since: performance.now() });
  const leave = () => void all.delete(one);
  // There an invocation ends with its client, in the middle of what it does.
  if (gone && isWorkers()) gone.addEventListener('abort', leave, { once: true });
  return leave;
}

const names: Record<Place, string> = {
  enqueues: 'enqueues',
  claims: 'claims',
  rest: 'calls',
  waits: 'calls that wait',
  looks: 'looks',
  pieces: 'pieces of large bodies',
};

function full(place: Place, env: Bindings) {
  return refusal(503, `This Worker has ${mostOf(place, env)} ${names[place]} at once already.`, {
    hint: 'Come back after Retry-After. One call can take many tasks; TOCK_MOST_AT_ONCE allows more calls.',
    headers: later(),
  });
}

/** Refuses a call for which there is no place, before its body is read. */
export function refuseIfFull(share: Share, env: Bindings, key: string): void {
  if (share !== 'ends' && isFull(share, env, key)) throw full(share, env);
}

/** Does a call in a place of its share, or refuses it. */
export async function within<T>(
  share: Share | 'waits',
  env: Bindings,
  key: string,
  gone: AbortSignal,
  work: () => Promise<T>,
): Promise<T> {
  if (share === 'ends') return work();
  const leave = enter(share, env, key, gone);
  if (!leave) throw full(share, env);
  try {
    return await work();
  } finally {
    leave();
  }
}

/** Hears how long a body has become, and refuses it where the isolate holds too much already. */
export type Grown = (bytes: number) => void;

/** Does a call, and counts its body for as long as it takes. */
export async function loaded<T>(
  share: Share,
  env: Bindings,
  key: string,
  gone: AbortSignal,
  work: (grown: Grown) => Promise<T>,
): Promise<T> {
  const pieces: (() => void)[] = [];
  const grown: Grown = (bytes) => {
    while (share !== 'ends' && bytes > (pieces.length + 1) * PIECE_BYTES) {
      const leave = enter('pieces', env, key, gone);
      if (!leave) throw full('pieces', env);
      pieces.push(leave);
    }
  };
  try {
    return await work(grown);
  } finally {
    for (const leave of pieces) leave();
  }
}
