import { weights } from '../space.ts';
import type { Case, Figure, Group, Measured, Place, Run, System } from '../types.ts';
import { caseOf, cycles, enqueues, shapeOf, stock } from '../windows.ts';

type Kind = 'enqueue' | 'claim + complete';
const kinds: Kind[] = ['enqueue', 'claim + complete'];
const batches = [1, 100, 1000];
const lives = [1, 100];

const nameOf = (kind: Kind, batch: number) => `${kind} ${batch}`;
const lifeOf = (batch: number) => `whole life ${batch}`;
const costs = [
  { name: 'WAL', unit: 'bytes/task', of: (one: Measured) => one.walBytes },
  { name: 'CPU', unit: 'µs/task', of: (one: Measured) => one.cpuSeconds * 1e6 },
];
const costOf = (cost: string, batch: number) => `${cost} ${batch}`;

const figure = (value: number | null): Figure => ({ value, windows: [] });

/** What its windows came to, by system and case. */
type Seen = Map<string, Measured[]>;
const keyOf = (system: System, name: string) => `${system.name}: ${name}`;

async function window(
  run: Run,
  system: System,
  place: Place,
  kind: Kind,
  batch: number,
  seen: Seen,
): Promise<number | null> {
  const shape = shapeOf(batch);
  const key = keyOf(system, nameOf(kind, batch));
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
  // a quick run settles before the first of three windows only
  const settle = run.quick && seen.has(key) ? async () => {} : run.settle;
  if (kind === 'enqueue') {
    if (!seen.has(key)) await run.load(place, work);
    seen.set(key, all);
    await settle(place);
    return enqueues(noting, system, place, shape);
  }
  // warms up too, the first time
  await stock({ ...run, settle }, system, place, shape, run.seconds);
  seen.set(key, all);
  return cycles(noting, system, place, shape);
}

/** Seconds of a task's whole life turned round: 1 / (1 / enqueued + 1 / consumed). */
const whole = (rates: (number | null | undefined)[]) =>
  rates.every((rate) => rate)
    ? 1 / rates.reduce<number>((sum, rate) => sum + 1 / Number(rate), 0)
    : null;

function perTask(seen: Seen, system: System, batch: number, of: (one: Measured) => number) {
  let sum = 0;
  for (const kind of kinds) {
    const all = seen.get(keyOf(system, nameOf(kind, batch))) ?? [];
    const tasks = all.reduce(
      (count, one) => count + (kind === 'enqueue' ? one.enqueued : one.finished),
      0,
    );
    if (tasks === 0) return figure(null);
    sum += all.reduce((count, one) => count + of(one), 0) / tasks;
  }
  return figure(sum);
}

async function measured(run: Run): Promise<Case[]> {
  const all = [...run.systems, run.floor];
  const places = new Map<System, Place>();
  const seen: Seen = new Map();
  const cases: Case[] = [];
  const rates: Record<string, Record<string, Figure | undefined>> = {};
  const add = (
    name: string,
    unit: string,
    note: string,
    of: (system: System) => Figure | undefined,
  ) => {
    const figures = Object.fromEntries(run.systems.map((system) => [system.name, of(system)]));
    const floor = of(run.floor);
    const made = caseOf(run, { name, unit, note }, figures);
    cases.push({
      ...made,
      floor: floor?.value ?? null,
      windows: { ...made.windows, ...(floor?.windows.length && { floor: floor.windows }) },
    });
  };
  const needed = (kind: Kind, batch: number) =>
    [
      nameOf(kind, batch),
      ...(lives.includes(batch) ? [lifeOf(batch)] : []),
      ...costs.map(({ name }) => costOf(name, batch)),
    ].some(run.wants);
  try {
    for (const system of all) places.set(system, await run.open(system));
    for (const kind of kinds) {
      for (const batch of batches.filter((one) => needed(kind, one))) {
        const name = nameOf(kind, batch);
        run.say(`  ${name}`);
        rates[name] = await run.interleave(
          [...places].map(([system, place]) => ({
            name: system.name,
            window: () => window(run, system, place, kind, batch, seen),
          })),
        );
        const note =
          kind === 'enqueue' ? '' : 'every payload is sent to the client; history is kept';
        if (run.wants(name)) add(name, 'tasks/s', note, (system) => rates[name]?.[system.name]);
      }
    }
    for (const batch of lives.filter((one) => run.wants(lifeOf(one)))) {
      const of = (system: System) =>
        kinds.map((kind) => rates[nameOf(kind, batch)]?.[system.name]?.value);
      add(lifeOf(batch), 'tasks/s', 'enqueue and cycle one after the other', (system) =>
        figure(whole(of(system))),
      );
    }
    for (const cost of costs) {
      for (const batch of batches.filter((one) => run.wants(costOf(cost.name, one)))) {
        add(
          costOf(cost.name, batch),
          cost.unit,
          'of PostgreSQL, enqueue and cycle together',
          (system) => perTask(seen, system, batch, cost.of),
        );
      }
    }
    for (const [system, place] of places) await system.check?.(place);
  } finally {
    for (const place of places.values()) await run.close(place);
  }
  return cases;
}

export const groups: Group[] = [
  {
    name: 'batches',
    cases: [
      ...kinds.flatMap((kind) => batches.map((batch) => nameOf(kind, batch))),
      ...lives.map(lifeOf),
      ...costs.flatMap(({ name }) => batches.map((batch) => costOf(name, batch))),
    ],
    run: measured,
  },
  weights,
];
