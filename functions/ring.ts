import { pause } from '../client/pause.ts';
import { bell } from '../client/worker/bell.ts';
import { type Consumers, drainOver, total } from './consumers/drain.ts';
import { type Line, line } from './consumers/line.ts';
import type { Bindings, Connect } from './query.ts';

// Told as a time from now on: the two clocks need not agree.
const ms = (at: string) =>
  `select ceil(extract(epoch from w.at - clock_timestamp()) * 1000)::float8 as ms from ${at} as w (at)`;
const TICK = ms('tock.tick()');
const NEXT = ms('tock.next_wake_at()');

/** While consumers work, what falls due is done all the same, each second at least. */
const EVERY_MS = 1000;
/** A time that has passed already may be a duty that has failed. */
const LATE_MS = 1000;
/** No drain is begun for less. */
const LEAST_MS = 5000;
/** Of the statements that an invocation may send, those that ticks leave to its consumers. */
const KEPT_STATEMENTS = 25;

async function ask(way: Line, text: string): Promise<number | null> {
  const [row] = await way.query(text);
  const left = row?.ms as number | null;
  return left !== null && left <= 0 ? LATE_MS : left;
}

const sooner = (a: number | null, b: number | null) =>
  a === null || b === null ? (a ?? b) : Math.min(a, b);

/** Ticks as things fall due, and tells the consumers of it, until they have ended. */
async function tickBeside(
  way: Line,
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
    next = await ask(way, TICK);
    knock();
  }
}

/** Works on what is ready, and looks again when a tick beside it has come too late for its last claims. */
async function consume(
  way: Line,
  env: Bindings,
  consumers: Consumers,
  seconds: number,
  next: number | null,
): Promise<number | null> {
  const { ring: tell, next: told } = bell();
  let count = 0;
  const knock = () => {
    count++;
    tell();
  };
  const knocks = { count: () => count, next: told };
  const end = performance.now() + seconds * 1000;
  let again: number | null;
  let worked = false;
  for (;;) {
    const seen = count;
    const left = (end - performance.now()) / 1000;
    const working = drainOver(way, env, consumers, { seconds: left, knocks, worker: 'alarm' });
    await tickBeside(way, working, knock, next);
    const drained = await working;
    again = drained.again_seconds;
    worked ||= total(drained) > 0;
    if (count === seen || again === 0 || performance.now() > end - LEAST_MS) break;
  }
  if (count > 0 && performance.now() > end - LEAST_MS) again = 0;
  const after = worked || count > 0 ? await ask(way, NEXT) : next;
  return sooner(after, again && again * 1000);
}

/** Does what is due, and then what is ready; milliseconds until it must be done again, null when nothing is pending. */
export async function ring(
  connect: Connect,
  env: Bindings,
  consumers: Consumers,
  seconds: number,
): Promise<number | null> {
  const way = line(connect, env);
  try {
    const next = await ask(way, TICK);
    if (Array.isArray(consumers) && consumers.length === 0) return next;
    return await consume(way, env, consumers, seconds, next);
  } finally {
    await way.close();
  }
}
