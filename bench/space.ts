import type { Figure, Group, Place, Run, System } from './types.ts';
import { caseOf, shapeOf } from './windows.ts';

type Sizes = { table: number; index: number };

/** Of all tables that aren't PostgreSQL's own, TOAST with its table. */
async function sizes({ client }: Place): Promise<Sizes> {
  const { rows } = await client.query(
    `select sum(pg_table_size(c.oid))::float8 as table, sum(pg_indexes_size(c.oid))::float8 as index
     from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where c.relkind = 'r' and n.nspname <> 'information_schema' and n.nspname not like 'pg\\_%'`,
  );
  return rows[0];
}

const moments = ['ready', 'done'] as const;
const kinds = ['table', 'index'] as const;
const nameOf = (kind: string, moment: string) => `${kind} bytes ${moment}`;
const names = moments.flatMap((moment) => kinds.map((kind) => nameOf(kind, moment)));

/** Works at 100 a call until hardly anything is ready. */
async function drain(run: Run, system: System, place: Place): Promise<void> {
  const work = system.cycle(shapeOf(100));
  for (let tries = 0; work && tries < 60; tries++) {
    const { enqueued, finished } = await system.counts(place);
    if (enqueued - finished < enqueued / 20) return;
    await run.load(place, work, { seconds: 1 });
  }
  throw new Error('its tasks did not come to an end');
}

async function weigh(run: Run, system: System): Promise<Record<string, Figure>> {
  const place = await run.open(system);
  try {
    const empty = await sizes(place);
    await system.fill(place, run.quick ? 50_000 : 500_000, shapeOf(100));
    const found: Record<string, Figure> = {};
    for (const moment of moments) {
      if (moment === 'done') await drain(run, system, place);
      const { enqueued } = await system.counts(place);
      const now = await sizes(place);
      for (const kind of kinds) {
        const value = (now[kind] - empty[kind]) / enqueued;
        found[nameOf(kind, moment)] = { value, windows: [] };
      }
    }
    return found;
  } finally {
    await run.close(place);
  }
}

/** What a task takes on disk, before and after its life. */
export const weights: Group = {
  name: 'space',
  cases: names,
  async run(run) {
    const all: Record<string, Record<string, Figure>> = {};
    for (const system of run.systems) {
      const one = await run.interleave([
        {
          name: system.name,
          window: async () => {
            all[system.name] ??= await weigh(run, system);
            return null;
          },
        },
      ]);
      const note = one[system.name]?.note;
      if (note)
        all[system.name] = Object.fromEntries(
          names.map((name) => [name, { value: null, windows: [], note }]),
        );
    }
    return names.filter(run.wants).map((name) => {
      const figures = Object.fromEntries(
        run.systems.map((one) => [one.name, all[one.name]?.[name]]),
      );
      const note = name.endsWith('done') ? 'at 100 a call, as autovacuum leaves it' : 'as enqueued';
      return caseOf(run, { name, unit: 'bytes/task', note }, figures);
    });
  },
};
