import type { Case, Figure, Group, Place, Run, System } from './types.ts';
import { caseOf, figure, shapeOf } from './windows.ts';

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
async function drain(run: Run, system: System, place: Place, bytes: number): Promise<void> {
  const work = system.cycle(shapeOf(100, { bytes }));
  for (let tries = 0; work && tries < 40; tries++) {
    const { enqueued, finished } = await system.counts(place);
    if (enqueued - finished < enqueued / 20) return;
    await run.load(place, work, { seconds: 3 });
  }
  throw new Error('its tasks did not come to an end');
}

type Weights = { systems: System[]; bytes: number; tasks: number; prefix?: string };

async function weigh(run: Run, system: System, { bytes, tasks }: Weights) {
  const place = await run.open(system);
  const found: Record<string, Figure> = {};
  const put = (moment: string, empty: Sizes, now: Sizes, enqueued: number) => {
    for (const kind of kinds) {
      found[nameOf(kind, moment)] = figure((now[kind] - empty[kind]) / enqueued);
    }
  };
  try {
    const empty = await sizes(place);
    const { enqueued: before } = await system.counts(place);
    await system.fill(place, tasks, shapeOf(100, { bytes }));
    const { enqueued } = await system.counts(place);
    put('ready', empty, await sizes(place), enqueued - before);
    // rows of the floor stay as they are
    if (system !== run.floor) await drain(run, system, place, bytes);
    await run.settle(place);
    put('done', empty, await sizes(place), enqueued - before);
    return found;
  } finally {
    await run.close(place);
  }
}

/** What a task takes on disk, before and after its life. */
export async function weightsOf(run: Run, weights: Weights): Promise<Case[]> {
  const all: Record<string, Record<string, Figure>> = {};
  for (const system of [...weights.systems, run.floor]) {
    const window = async () => {
      all[system.name] ??= await weigh(run, system, weights);
      return null;
    };
    const { note } = (await run.interleave([{ name: system.name, window }]))[system.name] ?? {};
    if (note)
      all[system.name] = Object.fromEntries(names.map((name) => [name, figure(null, note)]));
  }
  return names.filter(run.wants).map((name) => {
    const figures = Object.fromEntries(Object.entries(all).map(([of, got]) => [of, got[name]]));
    const note = name.endsWith('done') ? 'at 100 a call, vacuumed once after it' : 'as enqueued';
    const named = { name: `${weights.prefix ?? ''}${name}`, unit: 'bytes/task', note };
    return caseOf(run, named, figures);
  });
}

export const weights: Group = {
  name: 'space',
  cases: names,
  slow: true,
  run: (run) =>
    weightsOf(run, { systems: run.systems, bytes: 100, tasks: run.quick ? 50_000 : 200_000 }),
};
