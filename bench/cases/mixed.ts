import type { Figure, Group, Measured, Run, System, TestDatabase } from '../types.ts';
import { caseOf, median, shapeOf, stock } from '../windows.ts';

const shape = shapeOf(100);

async function window(run: Run, system: System, database: TestDatabase): Promise<Measured | null> {
  const [enqueue, cycle] = [system.enqueue(shape), system.cycle(shape)];
  if (!enqueue || !cycle) return null;
  await stock(run, system, database, shape, run.seconds);
  const clients = run.clients / 2;
  return run.measure(database, system, [
    { work: enqueue, clients },
    { work: cycle, clients },
  ]);
}

/** Half of the connections enqueue, and the others claim and complete at the same time, 100 tasks per call. */
export const groups: Group[] = [
  {
    name: 'mixed',
    async run(run) {
      const databases = new Map<System, TestDatabase>();
      const enqueued: Record<string, Figure> = {};
      try {
        for (const system of [...run.systems, run.floor]) {
          databases.set(system, await run.open(system));
        }
        const rates = new Map<string, number[]>();
        const consumed = await run.interleave(
          [...databases].map(([system, database]) => ({
            name: system.name,
            window: async () => {
              const got = await window(run, system, database);
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
        for (const database of databases.values()) await run.close(database);
      }
    },
  },
];
