import type { Case, Figure, Place, Run, System } from './types.ts';
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

/** One of those that are held against each other: `ready` tasks are left by each window. */
export type Side = { label: string; queues?: number; ready: number; open(): Promise<Place> };

export type Twins = {
  name: string;
  /** The first is the small one. */
  sides: Side[];
  enqueue?: boolean;
  seconds: number;
  batches?: number[];
  /** When all windows are over, with every place still there. */
  after?(places: Map<Side, Place>): Promise<Case[]>;
};

type Entry = { name: string; window(): Promise<number | null> };

function entriesOf(run: Run, system: System, twins: Twins, places: Map<Side, Place>): Entry[] {
  const entries: Entry[] = [];
  for (const batch of twins.batches ?? [1, 100]) {
    for (const side of twins.sides) {
      const place = places.get(side) as Place;
      const shape = shapeOf(batch, { queues: side.queues ?? 1 });
      if (twins.enqueue) {
        const window = () => enqueues(run, system, place, shape, twins.seconds);
        entries.push({ name: `enqueue ${batch}, ${side.label}`, window });
      }
      entries.push({
        name: `cycle ${batch}, ${side.label}`,
        window: async () => {
          await stock(run, system, place, shape, twins.seconds, side.ready);
          return cycles(run, system, place, shape, twins.seconds);
        },
      });
    }
  }
  return entries;
}

async function figuresOf(run: Run, system: System, twins: Twins) {
  const places = new Map<Side, Place>();
  try {
    for (const side of twins.sides) {
      const place = await side.open();
      places.set(side, place);
      const shape = shapeOf(100, { queues: side.queues ?? 1 });
      await stock(run, system, place, shape, 0, side.ready);
    }
    const figures = await run.interleave(entriesOf(run, system, twins, places));
    return { figures, more: (await twins.after?.(places)) ?? [] };
  } finally {
    for (const place of places.values()) await run.close(place);
  }
}

/** Round by round, as the machine is not the same in each. */
function ratioOf(large?: Figure, small?: Figure): Figure {
  const windows = (large?.windows ?? []).flatMap((rate, n) => ratio(rate, small?.windows[n]) ?? []);
  const value = large?.value && small?.value ? median(windows) : null;
  return { value, windows, note: `${rounded(large?.value)} against ${rounded(small?.value)}` };
}

/** Each side's rates, and of each but the small one how much of the small one's rate is left. */
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
    Object.fromEntries(systems.map((one) => [one.name, bySystem[one.name]?.[key]]));
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
          systems.map((one) => {
            const of = bySystem[one.name];
            return [one.name, ratioOf(of?.[keyOf(side)], of?.[keyOf(sides[0])])];
          }),
        );
        const what = `${name}: ${verb} ${batch}, ${side.label} to ${sides[0]?.label}`;
        cases.push(caseOf(run, { name: what, unit: 'ratio' }, figures));
      }
    }
  }
  return [...cases, ...more];
}
