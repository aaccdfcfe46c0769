import type { Case, Figure, Measured, Run, Shape, System, TestDatabase } from './types.ts';
import {
  caseOf,
  cycles,
  enqueues,
  figure,
  keepFloor,
  shapeOf,
  stock,
  type Verb,
} from './windows.ts';

type Kind = 'enqueue' | 'claim + complete';
export const kinds: Kind[] = ['enqueue', 'claim + complete'];
const verbs: Record<Kind, Verb> = { enqueue: 'enqueue', 'claim + complete': 'cycle' };

export const nameOf = (kind: Kind, batch: number) => `${kind} ${batch}`;
export const lifeOf = (batch: number) => `whole life ${batch}`;
export const costs = [
  { name: 'WAL', unit: 'bytes/task', of: (measured: Measured) => measured.walBytes },
  { name: 'CPU', unit: 'µs/task', of: (measured: Measured) => measured.cpuSeconds * 1e6 },
];
export const costOf = (cost: string, batch: number) => `${cost} ${batch}`;

/** The windows' results, by system and case. */
type Seen = Map<string, Measured[]>;
const keyOf = (system: System, name: string) => `${system.name}: ${name}`;

async function window(
  run: Run,
  system: System,
  database: TestDatabase,
  kind: Kind,
  shape: Shape,
  seen: Seen,
): Promise<number | null> {
  const key = keyOf(system, nameOf(kind, shape.batch));
  const all = seen.get(key) ?? [];
  const noting: Run = {
    ...run,
    async measure(...args) {
      const got = await run.measure(...args);
      all.push(got);
      return got;
    },
  };
  const work = kind === 'enqueue' ? system.enqueue(shape) : system.cycle(shape);
  if (!work) return null;
  seen.set(key, all);
  if (kind === 'enqueue') {
    await run.settle(database);
    return enqueues(noting, system, database, shape);
  }
  await stock(run, system, database, shape, run.seconds);
  return cycles(noting, system, database, shape);
}

/** The inverse of a task's total time: 1 / (1 / enqueued + 1 / consumed). */
const whole = (rates: (number | null | undefined)[]) =>
  rates.every((rate) => rate)
    ? 1 / rates.reduce<number>((sum, rate) => sum + 1 / Number(rate), 0)
    : null;

function perTask(seen: Seen, system: System, batch: number, of: (measured: Measured) => number) {
  let sum = 0;
  for (const kind of kinds) {
    const all = seen.get(keyOf(system, nameOf(kind, batch))) ?? [];
    const tasks = all.reduce(
      (count, measured) => count + (kind === 'enqueue' ? measured.enqueued : measured.finished),
      0,
    );
    if (tasks === 0) return figure(null);
    sum += all.reduce((count, measured) => count + of(measured), 0) / tasks;
  }
  return figure(sum);
}

type Lives = {
  systems: System[];
  bytes: number;
  /** Tasks per call. */
  batches: number[];
  /** The batch sizes for which whole lives are reported. */
  lives: number[];
  /** A prefix of each case's name. */
  prefix?: string;
};

/** Measures enqueues, and claims with completions, of all systems in turn: rates, and the cost of a task. */
export async function livesOf(
  run: Run,
  { systems, bytes, batches, lives, prefix = '' }: Lives,
): Promise<Case[]> {
  const all = [...systems, run.floor];
  const databases = new Map<System, TestDatabase>();
  const seen: Seen = new Map();
  const cases: Case[] = [];
  const rates: Record<string, Record<string, Figure | undefined>> = {};
  const add = (
    name: string,
    unit: string,
    note: string,
    of: (system: System) => Figure | undefined,
  ) => {
    const figures = Object.fromEntries(all.map((system) => [system.name, of(system)]));
    cases.push(caseOf(run, { name: `${prefix}${name}`, unit, note }, figures));
  };
  const needed = (kind: Kind, batch: number) =>
    [
      nameOf(kind, batch),
      ...(lives.includes(batch) ? [lifeOf(batch)] : []),
      ...costs.map(({ name }) => costOf(name, batch)),
    ].some(run.wants);
  try {
    for (const system of all) databases.set(system, await run.open(system));
    for (const kind of kinds) {
      for (const batch of batches.filter((size) => needed(kind, size))) {
        const name = nameOf(kind, batch);
        const shape = shapeOf(batch, { bytes });
        run.say(`  ${prefix}${name}`);
        rates[name] = await run.interleave(
          [...databases].map(([system, database]) => ({
            name: system.name,
            window: () => window(run, system, database, kind, shape, seen),
          })),
        );
        const least = rates[name]?.[run.floor.name];
        if (least) keepFloor(verbs[kind], shape, least);
        const note =
          kind === 'enqueue' ? '' : 'every payload is sent to the client; history is kept';
        if (run.wants(name)) add(name, 'tasks/s', note, (system) => rates[name]?.[system.name]);
      }
    }
    for (const batch of lives.filter((life) => run.wants(lifeOf(life)))) {
      const of = (system: System) =>
        kinds.map((kind) => rates[nameOf(kind, batch)]?.[system.name]?.value);
      add(lifeOf(batch), 'tasks/s', 'enqueue and cycle one after the other', (system) =>
        figure(whole(of(system))),
      );
    }
    for (const cost of costs) {
      for (const batch of batches.filter((size) => run.wants(costOf(cost.name, size)))) {
        add(
          costOf(cost.name, batch),
          cost.unit,
          'of PostgreSQL, enqueue and cycle together',
          (system) => perTask(seen, system, batch, cost.of),
        );
      }
    }
    for (const [system, database] of databases) await system.check?.(database);
  } finally {
    for (const database of databases.values()) await run.close(database);
  }
  return cases;
}
