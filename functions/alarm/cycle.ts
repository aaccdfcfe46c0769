import { pause } from '../../client/pause.ts';
import { bell } from '../../client/worker/bell.ts';
import { type Consumers, drainOver, enoughOf, logError, total } from '../consumers/drain.ts';
import { type SerialConnection, serialConnection } from '../consumers/serial_connection.ts';
import type { Connect } from '../database/types.ts';
import type { Bindings } from '../env.ts';

// Told as a time from now on: the two clocks need not agree.
const ms = (at: string) =>
  `select ceil(extract(epoch from w.at - clock_timestamp()) * 1000)::float8 as ms, w.at::text as at from ${at} as w (at)`;
const TICK = ms('least(tock.tick(), tock.tick_by())');
const NEXT = ms('least(tock.next_wake_at(), tock.tick_by())');

/** While consumers work, what falls due is done all the same, each second at least. */
const EVERY_MS = 1000;
/** A time that has passed already may be a duty that has failed. */
const LATE_MS = 1000;
/** No drain is begun for less. */
const LEAST_MS = 5000;
/** Of the statements that an invocation may send, those that ticks leave to its consumers. */
const KEPT_STATEMENTS = 25;

type Due = { ms: number | null; passed_at: string | null };

/** What a ring came to. */
export type CycleResult = Due & {
  /** What went wrong; the rest of it was done all the same. */
  errors: unknown[];
};

async function ask(way: SerialConnection, text: string): Promise<Due> {
  const [row] = await way.query(text);
  const left = row?.ms as number | null;
  if (left === null || left > 0) return { ms: left, passed_at: null };
  return { ms: LATE_MS, passed_at: row?.at as string };
}

const sooner = (a: number | null, b: number | null) =>
  a === null || b === null ? (a ?? b) : Math.min(a, b);

/** Ticks as things fall due, and tells the consumers of it, until they have ended. */
async function tickBeside(
  way: SerialConnection,
  working: Promise<unknown>,
  knock: () => void,
  first: number | null,
) {
  let over = false;
  const ended = working.finally(() => {
    over = true;
  });
  ended.catch(() => {});
  let next = first;
  while (true) {
    const timer = new AbortController();
    const rest = Math.min(next ?? EVERY_MS, EVERY_MS);
    await Promise.race([ended, pause(rest, timer.signal)]).finally(() => timer.abort());
    if (over) return;
    if (way.left() <= KEPT_STATEMENTS) continue;
    // Who works is not to be broken off by it.
    next = await ask(way, TICK).then(({ ms }) => ms, unticked);
    knock();
  }
}

function unticked(error: unknown): null {
  logError(error);
  return null;
}

/** Works on what is ready, and looks again when a tick beside it has come too late for its last claims. */
async function consume(
  way: SerialConnection,
  env: Bindings,
  consumers: Consumers,
  seconds: number,
  due: Due | null,
): Promise<CycleResult> {
  const { ring: tell, next: told } = bell();
  let count = 0;
  const knock = () => {
    count++;
    tell();
  };
  const knocks = { count: () => count, next: told };
  const end = performance.now() + seconds * 1000;
  const errors: unknown[] = [];
  let again: number | null = null;
  let worked = false;
  for (;;) {
    const seen = count;
    const left = (end - performance.now()) / 1000;
    const options = { seconds: left, enough_seconds: enoughOf(seconds), knocks, worker: 'alarm' };
    const working = drainOver(way, env, consumers, options);
    await tickBeside(way, working, knock, due?.ms ?? null).catch(() => {});
    const drained = await working.catch((error) => void errors.push(error));
    worked ||= !drained || total(drained) > 0;
    if (!drained) break;
    again = drained.again_seconds;
    if (count === seen || again === 0 || performance.now() > end - LEAST_MS) break;
  }
  if (count > 0 && performance.now() > end - LEAST_MS) again = 0;
  // It may have sent all the statements that it may.
  if (again === 0) return { ms: 0, passed_at: null, errors };
  const after = worked || count > 0 || !due ? await ask(way, NEXT) : due;
  return { ...after, ms: sooner(after.ms, again && again * 1000), errors };
}

/** A database that has said something is there for the consumers. */
const isReached = (error: unknown) =>
  !/^(08|57P0|TK503)/.test((error as { code?: string }).code ?? '08');

/** Does what is due, and then what is ready; says in how many milliseconds it must be done again, null when nothing is pending. */
export async function alarmCycle(
  connect: Connect,
  env: Bindings,
  consumers: Consumers,
  seconds: number,
): Promise<CycleResult> {
  const way = serialConnection(connect, env);
  const errors: unknown[] = [];
  try {
    const due = await ask(way, TICK).catch((error) => {
      if (!isReached(error)) throw error;
      errors.push(error);
      return null;
    });
    const rung = await consume(way, env, consumers, seconds, due);
    return { ...rung, errors: [...errors, ...rung.errors] };
  } finally {
    await way.close();
  }
}
