import type { Figure, Group, Measured, Place, Run, System } from '../types.ts';
import { caseOf, median, shapeOf, stock } from '../windows.ts';

const shape = shapeOf(100);

async function window(run: Run, system: System, place: Place): Promise<Measured | null> {
  const [enqueue, cycle] = [system.enqueue(shape), system.cycle(shape)];
  if (!enqueue || !cycle) return null;
  await stock(run, system, place, shape, run.seconds);
  const clients = run.clients / 2;
  return run.measure(place, system, [
    { work: enqueue, clients },
    { work: cycle, clients },
  ]);
}

/** Half of the connections enqueue and the others claim and complete, 100 a call, at the same time. */
export const groups: Group[] = [
  {
    name: 'mixed',
    async run(run) {
      const places = new Map<System, Place>();
      const enqueued: Record<string, Figure> = {};
      try {
        for (const system of [...run.systems, run.floor]) {
          places.set(system, await run.open(system));
        }
        const rates = new Map<string, number[]>();
        const consumed = await run.interleave(
          [...places].map(([system, place]) => ({
            name: system.name,
            window: async () => {
              const got = await window(run, system, place);
              if (!got) return null;
              const { name } = system;
              rates.set(name, [...(rates.get(name) ?? []), got.enqueued / got.seconds]);
              return got.finished / got.seconds;
            },
          })),
        );
        for (const [name, windows] of rates) {
          const note = consumed[name]?.note;
          enqueued[name] = { value: note ? null : median(windows), windows };
        }
        const note = `${run.clients / 2} + ${run.clients / 2} connections at the same time`;
        return [
          caseOf(run, { name: 'mixed enqueued 100', unit: 'tasks/s', note }, enqueued),
          caseOf(run, { name: 'mixed consumed 100', unit: 'tasks/s', note }, consumed),
        ];
      } finally {
        for (const place of places.values()) await run.close(place);
      }
    },
  },
];
