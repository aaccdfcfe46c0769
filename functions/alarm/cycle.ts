import { pause } from '../../client/pause.ts';
import { createNotifier } from '../../client/worker/notifier.ts';
import { type Consumers, drainOver, enoughSeconds, logError, total } from '../consumers/drain.ts';
import { type SerialConnection, serialConnection } from '../consumers/serial_connection.ts';
import { onEachNode } from '../consumers/turns.ts';
import type { Connect } from '../database/types.ts';
import type { Bindings } from '../env.ts';

// The database returns a duration from now, because its clock and the Worker's may differ.
const ms = (at: string) =>
  `select ceil(extract(epoch from w.at - clock_timestamp()) * 1000)::float8 as ms, w.at::text as at from ${at} as w (at)`;
const TICK = ms('least(tock.tick(), tock.tick_by())');
const NEXT = ms('least(tock.next_wake_at(), tock.tick_by())');

/** While consumers work, ticks run at least once a second. */
const TICK_MS = 1000;
/** Delay of the next cycle if work is still due after a tick, for example a failing maintenance job. */
const LATE_MS = 1000;
/** The shortest time for which a drain starts. */
const LEAST_MS = 5000;
/** Number of the invocation's statements that ticks leave for the consumers. */
const RESERVED_STATEMENTS = 25;

type Due = { ms: number | null; passed_at: string | null };

/** The result of one alarm cycle. */
export type CycleResult = Due & {
  /** Errors that did not stop the cycle. */
  errors: unknown[];
};

async function queryDue(connection: SerialConnection, text: string): Promise<Due> {
  const [row] = await connection.query(text);
  const left_ms = row?.ms as number | null;
  if (left_ms === null || left_ms > 0) return { ms: left_ms, passed_at: null };
  return { ms: LATE_MS, passed_at: row?.at as string };
}

const sooner = (a: number | null, b: number | null) =>
  a === null || b === null ? (a ?? b) : Math.min(a, b);

/** Ticks when work is due and wakes the consumers after each tick, until they have ended. */
async function tickWhile(
  connection: SerialConnection,
  draining: Promise<unknown>,
  wake: () => void,
  first: number | null,
) {
  let isOver = false;
  const ended = draining.finally(() => {
    isOver = true;
  });
  ended.catch(() => {});
  let next = first;
  while (true) {
    const timer = new AbortController();
    const delay_ms = Math.min(next ?? TICK_MS, TICK_MS);
    await Promise.race([ended, pause(delay_ms, timer.signal)]).finally(() => timer.abort());
    if (isOver) return;
    if (connection.left() <= RESERVED_STATEMENTS) continue;
    // A failed tick must not stop the consumers.
    next = await queryDue(connection, TICK).then(({ ms }) => ms, logTickError);
    wake();
  }
}

function logTickError(error: unknown): null {
  logError(error);
  return null;
}

/** Drains ready tasks. Drains again if a tick during the drain may have made tasks ready after its last claims. */
async function consume(
  connection: SerialConnection,
  env: Bindings,
  consumers: Consumers,
  seconds: number,
  due: Due | null,
  onTick: () => void,
): Promise<CycleResult> {
  const { notify, next: nextWake } = createNotifier();
  let wakeCount = 0;
  const wake = () => {
    wakeCount++;
    notify();
    onTick();
  };
  const wakeups = { count: () => wakeCount, next: nextWake };
  const deadline = performance.now() + seconds * 1000;
  const errors: unknown[] = [];
  let again_seconds: number | null = null;
  let worked = false;
  for (;;) {
    const seenCount = wakeCount;
    const left_seconds = (deadline - performance.now()) / 1000;
    const options = {
      seconds: left_seconds,
      enough_seconds: enoughSeconds(seconds),
      wakeups,
      worker: 'alarm',
    };
    const draining = drainOver(connection, env, consumers, options);
    await tickWhile(connection, draining, wake, due?.ms ?? null).catch(() => {});
    const drained = await draining.catch((error) => void errors.push(error));
    worked ||= !drained || total(drained) > 0;
    if (!drained) break;
    again_seconds = drained.again_seconds;
    if (wakeCount === seenCount || again_seconds === 0 || performance.now() > deadline - LEAST_MS)
      break;
  }
  if (wakeCount > 0 && performance.now() > deadline - LEAST_MS) again_seconds = 0;
  // The invocation may have used up its statements.
  if (again_seconds === 0) return { ms: 0, passed_at: null, errors };
  const after = worked || wakeCount > 0 || !due ? await queryDue(connection, NEXT) : due;
  return { ...after, ms: sooner(after.ms, again_seconds && again_seconds * 1000), errors };
}

/** True if the error is an answer of the database, so consumers can run. */
const isReached = (error: unknown) =>
  !/^(08|57P0|TK503)/.test((error as { code?: string }).code ?? '08');

/** The cycles of all nodes, at the same time. An error of a node does not stop the others. */
async function cycleOfNodes(
  connect: Connect,
  env: Bindings,
  consumers: Consumers,
  seconds: number,
  onTick: () => void,
): Promise<CycleResult> {
  const cycles = await onEachNode(env, consumers, (node, own) =>
    cycleOfNode(connect, node, own, seconds, onTick),
  );
  const results = cycles.flatMap((cycle) => (cycle.status === 'fulfilled' ? cycle.value : []));
  const failures = cycles.flatMap((cycle) => (cycle.status === 'rejected' ? cycle.reason : []));
  if (results.length === 0) throw failures[0];
  const errors = [...results.flatMap((result) => result.errors), ...failures];
  const ms = results.reduce<number | null>((least, result) => sooner(least, result.ms), null);
  const { passed_at = null } = results.find((result) => result.ms === ms) ?? {};
  return { ms, passed_at, errors };
}

/** Runs due work, then drains ready tasks; `onTick` is called when tasks may have become ready. Returns the milliseconds until the next cycle, null if none is needed. */
export function alarmCycle(
  connect: Connect,
  env: Bindings,
  consumers: Consumers,
  seconds: number,
  onTick = () => {},
): Promise<CycleResult> {
  return (env.TOCK_NODES ? cycleOfNodes : cycleOfNode)(connect, env, consumers, seconds, onTick);
}

async function cycleOfNode(
  connect: Connect,
  env: Bindings,
  consumers: Consumers,
  seconds: number,
  onTick: () => void,
): Promise<CycleResult> {
  const connection = serialConnection(connect, env);
  const errors: unknown[] = [];
  try {
    const due = await queryDue(connection, TICK).catch((error) => {
      if (!isReached(error)) throw error;
      errors.push(error);
      return null;
    });
    onTick();
    const drained = await consume(connection, env, consumers, seconds, due, onTick);
    onTick();
    return { ...drained, errors: [...errors, ...drained.errors] };
  } finally {
    await connection.close();
  }
}
