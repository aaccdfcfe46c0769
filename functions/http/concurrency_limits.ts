import type { Bindings } from '../env.ts';
import { isWorkers } from '../push/post.ts';
import { refusal, retryAfterHeader } from './problem.ts';

/**
 * The kind of a call for the concurrency limits of one isolate. Each kind has its own limit, so a flood of one kind
 * does not block the others. `ends` are calls that finish or extend work; they are never refused.
 */
export type CallKind = 'ends' | 'enqueues' | 'claims' | 'rest';
/** `waits` are claims and reads that wait, `polls` their statements; `pieces` are parts of large bodies in memory. */
type SlotKind = Exclude<CallKind, 'ends'> | 'waits' | 'polls' | 'pieces';

/** test/consumers/worker.test.ts sends a burst of this size. */
const DEFAULT_LIMIT = 300;
/**
 * Limits as multiples of TOCK_MOST_AT_ONCE. Waiting calls mostly sleep, so twice as many may run. By default only 10 of
 * them poll at once: the rest of a pool of 20 connections is for other calls.
 */
const factors: Partial<Record<SlotKind, number>> = { waits: 2, polls: 1 / 30, pieces: 4 / 3 };

/**
 * The first piece of a body is not counted. Large bodies share 400 pieces and 100 spare ones: 31 MiB of the 128 MB that
 * an isolate has.
 */
const PIECE_BYTES = 64 * 1024;
const minimums: Partial<Record<SlotKind, number>> = { pieces: 160 };

/**
 * Spare slots as a share of the limit. When the limit is reached, they are for keys that hold fewer slots than this
 * share, so a key that uses up the limit does not block other keys. An unknown key holds a slot only until its check.
 */
const SPARE = 1 / 4;

/** A slot expires after this time, which is longer than any call: a killed invocation never releases its slot. */
const LIFE_MS = 120_000;

type Slot = { key: string; since: number };

const slots = new Map<SlotKind, Map<symbol, Slot>>();

function limitOf(kind: SlotKind, { TOCK_MOST_AT_ONCE = '' }: Bindings): number {
  const limit = /^[1-9]\d{0,5}$/.test(TOCK_MOST_AT_ONCE)
    ? Number(TOCK_MOST_AT_ONCE)
    : DEFAULT_LIMIT;
  return Math.max(minimums[kind] ?? 1, limit * (factors[kind] ?? 1));
}

/** The slots in use. Expired slots come first in the map, and are deleted. */
function activeSlots(kind: SlotKind): Map<symbol, Slot> {
  const active = slots.get(kind) ?? new Map<symbol, Slot>();
  slots.set(kind, active);
  const oldest = performance.now() - LIFE_MS;
  for (const [slot, { since }] of active) {
    if (since > oldest) break;
    active.delete(slot);
  }
  return active;
}

/** True if no slot is free for the key. */
function isFull(kind: SlotKind, env: Bindings, key: string): boolean {
  const active = activeSlots(kind);
  const limit = limitOf(kind, env);
  if (active.size < limit) return false;
  const spareSlots = Math.ceil(limit * SPARE);
  if (active.size >= limit + spareSlots) return true;
  let ownSlots = 0;
  for (const other of active.values())
    if (other.key === key && ++ownSlots >= spareSlots) return true;
  return false;
}

/** Takes a slot for a key. Returns the function that releases it, null if no slot is free. */
export function enter(
  kind: SlotKind,
  env: Bindings,
  key: string,
  disconnected?: AbortSignal,
): (() => void) | null {
  if (isFull(kind, env, key)) return null;
  const active = activeSlots(kind);
  const slot = Symbol();
  active.set(slot, { key, since: performance.now() });
  const leave = () => void active.delete(slot);
  // On Workers an invocation ends when its client disconnects, so its own code may never release the slot.
  if (disconnected && isWorkers()) disconnected.addEventListener('abort', leave, { once: true });
  return leave;
}

const names: Record<SlotKind, string> = {
  enqueues: 'enqueues',
  claims: 'claims',
  rest: 'calls',
  waits: 'waiting calls',
  polls: 'polls',
  pieces: 'pieces of large bodies',
};

function limitReached(kind: SlotKind, env: Bindings) {
  return refusal(
    503,
    `This Worker has reached its limit of ${limitOf(kind, env)} concurrent ${names[kind]}.`,
    {
      hint: 'Retry after Retry-After. Send more tasks in a call, or raise TOCK_MOST_AT_ONCE.',
      headers: retryAfterHeader(),
    },
  );
}

/** Refuses a call without a free slot, before its body is read. */
export function refuseIfFull(kind: CallKind, env: Bindings, key: string): void {
  if (kind !== 'ends' && isFull(kind, env, key)) throw limitReached(kind, env);
}

/** Runs a call in a slot of its kind, or refuses it. */
export async function withSlot<T>(
  kind: CallKind | 'waits',
  env: Bindings,
  key: string,
  disconnected: AbortSignal,
  work: () => Promise<T>,
): Promise<T> {
  if (kind === 'ends') return work();
  const leave = enter(kind, env, key, disconnected);
  if (!leave) throw limitReached(kind, env);
  try {
    return await work();
  } finally {
    leave();
  }
}

/** Receives the size of a body while it arrives; throws if the isolate's bodies are too large together. */
export type OnGrowth = (bytes: number) => void;

/** Runs a call; the pieces of its body are counted until the call ends. */
export async function withBodySlots<T>(
  kind: CallKind,
  env: Bindings,
  key: string,
  disconnected: AbortSignal,
  work: (onGrowth: OnGrowth) => Promise<T>,
): Promise<T> {
  const pieces: (() => void)[] = [];
  const onGrowth: OnGrowth = (bytes) => {
    while (kind !== 'ends' && bytes > (pieces.length + 1) * PIECE_BYTES) {
      const leave = enter('pieces', env, key, disconnected);
      if (!leave) throw limitReached('pieces', env);
      pieces.push(leave);
    }
  };
  try {
    return await work(onGrowth);
  } finally {
    for (const leave of pieces) leave();
  }
}
