import type { Case, Figure, Group, Run, System, TestDatabase } from './types.ts';
import { caseOf, figure, shapeOf } from './windows.ts';

type Sizes = { table: number; index: number };

/** The sizes of all tables that are not PostgreSQL's own. A table's size includes its TOAST table. */
async function sizes({ client }: TestDatabase): Promise<Sizes> {
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

/** Claims and completes 100 tasks per call until hardly any task is ready. */
async function drain(
  run: Run,
  system: System,
  database: TestDatabase,
  bytes: number,
): Promise<void> {
  const work = system.cycle(shapeOf(100, { bytes }));
  for (let tries = 0; work && tries < 40; tries++) {
    const { enqueued, finished } = await system.counts(database);
    if (enqueued - finished < enqueued / 20) return;
    await run.load(database, work, { seconds: 3 });
  }
  throw new Error("the system's tasks did not end");
}

type Weights = { systems: System[]; bytes: number; tasks: number; prefix?: string };

async function weigh(run: Run, system: System, { bytes, tasks }: Weights) {
  const database = await run.open(system);
  const figures: Record<string, Figure> = {};
  const put = (moment: string, empty: Sizes, now: Sizes, enqueued: number) => {
    for (const kind of kinds) {
      figures[nameOf(kind, moment)] = figure((now[kind] - empty[kind]) / enqueued);
    }
  };
  try {
    const empty = await sizes(database);
    const { enqueued: before } = await system.counts(database);
    await system.fill(database, tasks, shapeOf(100, { bytes }));
    const { enqueued } = await system.counts(database);
    put('ready', empty, await sizes(database), enqueued - before);
    // The floor has no tasks to drain.
    if (system !== run.floor) await drain(run, system, database, bytes);
    await run.settle(database);
    put('done', empty, await sizes(database), enqueued - before);
    return figures;
  } finally {
    await run.close(database);
  }
}

/** The disk space of a task before it runs and after it is done. */
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
