import type { Case, Figure, Group, Place, Run, Shape, System } from '../types.ts';
import { caseOf, cycles, enqueues, isTock, shapeOf, stock } from '../windows.ts';

type Sized = { table: number; index: number };

/** Of all tables in a database, TOAST with its table. */
async function sizes(place: Place): Promise<Sized> {
  const { rows } = await place.client.query(
    `select sum(pg_table_size(c.oid))::float8 as table, sum(pg_indexes_size(c.oid))::float8 as index
     from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where c.relkind = 'r' and n.nspname <> 'information_schema' and n.nspname not like 'pg\\_%'`,
  );
  return rows[0];
}

const none = (note?: string): Figure => ({ value: null, windows: [], note });
const figure = (value: number): Figure => ({ value, windows: [] });

/** WAL of a whole life at 100 a call, and what stays of it in tables and indexes, bytes a task. */
async function lives(
  run: Run,
  system: System,
  place: Place,
  shape: Shape,
  seconds: number,
): Promise<Record<string, Figure>> {
  const enqueue = system.enqueue(shape);
  const cycle = system.cycle(shape);
  if (!enqueue || !cycle) {
    return { WAL: none('lacks a call'), table: none(), index: none() };
  }
  const before = await sizes(place);
  const added = await run.measure(
    place,
    system,
    [{ work: enqueue, clients: run.clients }],
    seconds,
  );
  const after = await sizes(place);
  await stock(run, system, place, shape, seconds);
  const done = await run.measure(place, system, [{ work: cycle, clients: run.clients }], seconds);
  return {
    WAL: figure(added.walBytes / added.enqueued + done.walBytes / done.finished),
    table: figure((after.table - before.table) / added.enqueued),
    index: figure((after.index - before.index) / added.enqueued),
  };
}

async function size(run: Run, label: string, bytes: number): Promise<Case[]> {
  const seconds = Math.min(run.seconds, run.quick ? 1 : 2);
  const figures: Record<string, Record<string, Figure | undefined>> = {};
  const put = (name: string, system: System, of?: Figure) => {
    figures[name] = { ...figures[name], [system.name]: of };
  };
  const batchesOf = (system: System) => (isTock(system) && !run.quick ? [1, 100] : [100]);
  const verbs = [1, 100].flatMap((batch) => [`enqueue ${batch}`, `cycle ${batch}`]);
  for (const system of run.quick ? run.systems.filter(isTock) : run.systems) {
    const place = await run.open(system);
    try {
      const bare = shapeOf(100, { bytes });
      const life = await lives(run, system, place, bare, seconds);
      for (const [name, of] of Object.entries(life)) put(name, system, of);
      const entries = batchesOf(system).flatMap((batch) => {
        const shape = shapeOf(batch, { bytes });
        return [
          {
            name: `enqueue ${batch}`,
            window: () => enqueues(run, system, place, shape, seconds),
          },
          {
            name: `cycle ${batch}`,
            window: async () => {
              await stock(run, system, place, shape, seconds);
              return cycles(run, system, place, shape, seconds);
            },
          },
        ];
      });
      const got = await run.interleave(entries);
      for (const name of verbs) put(name, system, got[name]);
    } finally {
      await run.close(place);
    }
  }
  const measured = verbs.filter((name) => Object.values(figures[name] ?? {}).some(Boolean));
  const rates = measured.map((name) =>
    caseOf(run, { name: `payload ${label}: ${name}`, unit: 'tasks/s' }, figures[name] ?? {}),
  );
  const of: Record<string, string> = {
    WAL: 'enqueue and cycle at 100 a call',
    table: 'of a task that is ready, TOAST included',
    index: 'of a task that is ready',
  };
  const weights = Object.entries(of).map(([name, note]) =>
    caseOf(
      run,
      { name: `payload ${label}: ${name} bytes`, unit: 'bytes/task', note },
      figures[name] ?? {},
    ),
  );
  return [...rates, ...weights];
}

/** Payloads of 1 and 16 KB: rates, the peers' at 100 a call, and what a task weighs. */
export const groups: Group[] = [
  {
    name: 'payloads',
    run: async (run) => [...(await size(run, '1 KB', 1000)), ...(await size(run, '16 KB', 16_000))],
  },
];
