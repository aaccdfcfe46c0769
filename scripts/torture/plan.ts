import { dice } from '../soak/clock.ts';

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

/** What a proxy does to the answers, or to whoever connects. */
export const ways = ['answers lost', 'answers late', 'answers cut', 'connections refused'] as const;
export type Way = (typeof ways)[number];

const others = [
  'pool filled',
  'transaction held open',
  'transaction prepared',
  'work in a transaction',
  'snapshot held open',
  'epoch ended',
  'pg_cron stopped',
  'pg_cron launcher ended',
  'two migrators',
  'deadlock',
  'rows locked by the owner',
] as const;

export type FaultName =
  | `kill -9 of ${keyof typeof kills}`
  | `${Way} between ${Link}`
  | (typeof others)[number];

/** `pick` chooses the victim among those there are; `holds` is how long it lasts, where it does. */
export type Fault = { at: number; name: FaultName; pick: number; holds: number };

/** Under this many seconds the kills come once each, or little would be done between them. */
const short = 20;

/** Every fault once in it, the kills more often unless it is for a short run; in long runs one comes each 3.5 s. */
function deck(round: number, seconds: number): FaultName[] {
  const names = Object.entries(kills).flatMap(([victim, times]) =>
    Array.from({ length: seconds < short ? 1 : times }, () => `kill -9 of ${victim}` as FaultName),
  );
  const torn = ways.map((way, at): FaultName => {
    const link = links[(round + at) % links.length] as Link;
    return `${way} between ${link}`;
  });
  return [...names, ...torn, ...others];
}

/** All faults of a run, computed before anything starts: the same seed and time give the same ones. */
export function planFaults(seed: number, seconds: number): Fault[] {
  const random = dice(seed * 101);
  const size = deck(0, seconds).length;
  const count = Math.max(size, Math.round(seconds / 3.5));
  const gap = (seconds * 1000) / (count + 1);
  const plan: Fault[] = [];
  for (let round = 0; plan.length < count; round++) {
    const left = deck(round, seconds);
    while (left.length > 0 && plan.length < count) {
      const [name] = left.splice(random(left.length), 1) as [FaultName];
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
