import type { Case, Figure, Run, System, TestDatabase } from './types.ts';
import {
  caseOf,
  cycles,
  enqueues,
  floorOf,
  median,
  ratio,
  rounded,
  shapeOf,
  stock,
  type Verb,
} from './windows.ts';

/** One side of a comparison. Each window leaves `ready` tasks ready. */
export type Side = { label: string; queues?: number; ready: number; open(): Promise<TestDatabase> };

export type Twins = {
  name: string;
  /** The first is the small one. */
  sides: Side[];
  enqueue?: boolean;
  seconds: number;
  batches?: number[];
  /** Called after all windows, while every database still exists. */
  after?(databases: Map<Side, TestDatabase>): Promise<Case[]>;
};

type Entry = { name: string; window(): Promise<number | null> };

function entriesOf(
  run: Run,
  system: System,
  twins: Twins,
  databases: Map<Side, TestDatabase>,
): Entry[] {
  const entries: Entry[] = [];
  for (const batch of twins.batches ?? [1, 100]) {
    for (const side of twins.sides) {
      const database = databases.get(side) as TestDatabase;
      const shape = shapeOf(batch, { queues: side.queues ?? 1 });
      if (twins.enqueue) {
        const window = () => enqueues(run, system, database, shape, twins.seconds);
        entries.push({ name: `enqueue ${batch}, ${side.label}`, window });
      }
      entries.push({
        name: `cycle ${batch}, ${side.label}`,
        window: async () => {
          await stock(run, system, database, shape, twins.seconds, side.ready);
          return cycles(run, system, database, shape, twins.seconds);
        },
      });
    }
  }
  return entries;
}

async function figuresOf(run: Run, system: System, twins: Twins) {
  const databases = new Map<Side, TestDatabase>();
  try {
    for (const side of twins.sides) {
      const database = await side.open();
      databases.set(side, database);
      const shape = shapeOf(100, { queues: side.queues ?? 1 });
      await stock(run, system, database, shape, 0, side.ready);
    }
    const figures = await run.interleave(entriesOf(run, system, twins, databases));
    return { figures, more: (await twins.after?.(databases)) ?? [] };
  } finally {
    for (const database of databases.values()) await run.close(database);
  }
}

/** The median of the ratios of all rounds. Each ratio is of one round, because the machine's speed changes. */
function ratioOf(large?: Figure, small?: Figure): Figure {
  const windows = (large?.windows ?? []).flatMap((rate, n) => ratio(rate, small?.windows[n]) ?? []);
  const value = large?.value && small?.value ? median(windows) : null;
  return { value, windows, note: `${rounded(large?.value)} against ${rounded(small?.value)}` };
}

/** The cases of a comparison: the rate of each side, and for the larger ones the ratio to the small side's rate. */
export async function twinCases(
  run: Run,
  systems: System[],
  twinsOf: (system: System) => Twins,
): Promise<Case[]> {
  const bySystem: Record<string, Record<string, Figure>> = {};
  const more: Case[] = [];
  let shared: Twins | undefined;
  for (const system of systems) {
    const twins = twinsOf(system);
    shared ??= twins;
    const got = await figuresOf(run, system, twins);
    bySystem[system.name] = got.figures;
    more.push(...got.more);
  }
  if (!shared) return [];
  const { name, sides, enqueue, batches } = shared;
  const pick = (key: string) =>
    Object.fromEntries(systems.map((system) => [system.name, bySystem[system.name]?.[key]]));
  const cases: Case[] = [];
  for (const batch of batches ?? [1, 100]) {
    for (const verb of (enqueue ? ['enqueue', 'cycle'] : ['cycle']) as Verb[]) {
      const floor = await floorOf(run, verb, shapeOf(batch));
      const keyOf = (side?: Side) => `${verb} ${batch}, ${side?.label}`;
      for (const side of sides) {
        const named = { name: `${name}: ${keyOf(side)}`, unit: 'tasks/s' };
        cases.push(caseOf(run, named, { ...pick(keyOf(side)), floor }));
      }
      for (const side of sides.slice(1)) {
        const figures = Object.fromEntries(
          systems.map((system) => {
            const of = bySystem[system.name];
            return [system.name, ratioOf(of?.[keyOf(side)], of?.[keyOf(sides[0])])];
          }),
        );
        const what = `${name}: ${verb} ${batch}, ${side.label} to ${sides[0]?.label}`;
        cases.push(caseOf(run, { name: what, unit: 'ratio' }, figures));
      }
    }
  }
  return [...cases, ...more];
}
