import { dice } from '../random.ts';

const kills = {
  server: 2,
  backend: 2,
  'background process': 1,
  pooler: 2,
  workerd: 1,
  worker: 3,
} as const;

export const links = ['client and workerd', 'workerd and pooler', 'pooler and server'] as const;
export type Link = (typeof links)[number];

/** The faults that a proxy can cause. */
export const networkFaults = [
  'answers lost',
  'answers late',
  'answers cut',
  'connections refused',
] as const;
export type NetworkFault = (typeof networkFaults)[number];

/** The faults that a soak has too: long readers and transactions, and ends of segments. */
const gentle = [
  'transaction held open',
  'work in a transaction',
  'snapshot held open',
  'database dumped',
  'segment ended',
] as const;

const harsh = [
  'pool filled',
  'transaction prepared',
  'pg_cron stopped',
  'pg_cron launcher ended',
  'two migrators',
  'deadlock',
  'rows locked by the owner',
] as const;

export type FaultName =
  | `kill -9 of ${keyof typeof kills}`
  | `${NetworkFault} between ${Link}`
  | (typeof gentle)[number]
  | (typeof harsh)[number];

/** `pick` chooses the victim; `holds` is the duration of a lasting fault in milliseconds. */
export type Fault = { at: number; name: FaultName; pick: number; holds: number };

/** Causes a fault. Returns the number or the name of its victims: 0 or an empty text if it had no effect. */
export type CauseFault = (fault: Fault) => Promise<number | string>;

/** Shorter runs have each kill once, because more kills would leave little time for work. */
const SHORT_SECONDS = 20;

export type Planning = {
  seed: number;
  seconds: number;
  driver: 'sql' | 'http';
  /** If set, the run has only the gentle faults, each once in this many seconds. */
  soak?: number | undefined;
};

/** Every fault once, kills more often unless the run is short. A run with SQL clients has no workerd to kill. */
function deck(round: number, { seconds, driver, soak }: Planning): FaultName[] {
  if (soak) return [...gentle];
  const victims = Object.entries(kills).filter(([name]) => name !== 'workerd' || driver === 'http');
  const names = victims.flatMap(([victim, times]) =>
    Array.from(
      { length: seconds < SHORT_SECONDS ? 1 : times },
      () => `kill -9 of ${victim}` as FaultName,
    ),
  );
  const torn = driver === 'sql' ? links.slice(1) : links;
  const tears = networkFaults.map(
    (networkFault, index): FaultName =>
      `${networkFault} between ${torn[(round + index) % torn.length] as Link}`,
  );
  return [...names, ...tears, ...gentle, ...harsh];
}

/**
 * All faults of a run, computed before it starts: the same options give the same faults. A long run has one fault
 * every 3.5 s.
 */
export function planFaults(planning: Planning): Fault[] {
  const { seed, seconds, soak } = planning;
  const random = dice(seed * 101);
  const size = deck(0, planning).length;
  const count = Math.max(size, Math.round(soak ? (seconds / soak) * size : seconds / 3.5));
  const gap = (seconds * 1000) / (count + 1);
  const plan: Fault[] = [];
  for (let round = 0; plan.length < count; round++) {
    const remaining = deck(round, planning);
    while (remaining.length > 0 && plan.length < count) {
      const [name] = remaining.splice(random(remaining.length), 1) as [FaultName];
      plan.push({
        at: Math.round(gap * (plan.length + 0.75) + random(gap / 2)),
        name,
        pick: random(1_000_000),
        holds: Math.round(gap * (0.5 + random(1000) / 400)),
      });
    }
  }
  return plan;
}
