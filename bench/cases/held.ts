import { connected } from '../cluster.ts';
import { mix } from '../mix.ts';
import type { Case, Figure, Group, Run, System, TestDatabase, Work } from '../types.ts';
import {
  caseOf,
  figure,
  floorOf,
  ratio,
  rivals,
  rounded,
  shapeOf,
  stock,
  tockOf,
} from '../windows.ts';

const windows = 6;
const row = (rates: number[]) => rates.map(rounded).join(' ');

/** Opens a read-only, repeatable read transaction that is idle after one read; returns a function that ends it. */
async function hold(database: TestDatabase): Promise<() => Promise<void>> {
  const client = await connected(database.url);
  await client.query('begin isolation level repeatable read read only');
  await client.query('select count(*) from pg_class');
  return () => client.end();
}

type Twin = { ready(database: TestDatabase): Promise<void>; work: Work };
type Seen = { held: number[]; control: number[] };

/**
 * Runs two databases of a system side by side, with half of the connections each. Only one has the held transaction, so
 * all other changes during the minute affect both.
 */
async function seenBy(
  run: Run,
  system: System,
  seconds: number,
  { ready, work }: Twin,
): Promise<Seen> {
  const databases = [await run.open(system), await run.open(system)] as const;
  const sides = databases.map((database) => ({
    database,
    system,
    works: [{ work, clients: run.clients / 2 }],
  }));
  const seen: Seen = { held: [], control: [] };
  let release = async () => {};
  try {
    for (let n = 0; n < windows; n++) {
      for (const database of databases) await ready(database);
      if (n === 0) release = await hold(databases[0]);
      const got = await run.together(sides, seconds);
      const [held, control] = got.map((side) => side.finished / side.seconds);
      seen.held.push(held ?? 0);
      seen.control.push(control ?? 0);
    }
    return seen;
  } finally {
    await release();
    for (const database of databases) await run.close(database);
  }
}

/** Runs the systems one after another. A failure becomes a note of that system. */
async function eachOf(
  run: Run,
  systems: System[],
  measure: (system: System) => Promise<Seen>,
): Promise<Map<System, Seen | string>> {
  const all = new Map<System, Seen | string>();
  for (const system of systems) {
    const window = async () => {
      if (!all.has(system)) all.set(system, await measure(system));
      return null;
    };
    const { note } = (await run.interleave([{ name: `held: ${system.name}`, window }]))[
      `held: ${system.name}`
    ] as Figure;
    if (note) all.set(system, note);
  }
  return all;
}

function casesOf(
  run: Run,
  name: string,
  seen: Map<System, Seen | string>,
  floor: Figure,
  more = '',
): Case[] {
  const of = (get: (seen: Seen) => Figure) =>
    Object.fromEntries(
      [...seen].map(([{ name: system }, got]): [string, Figure] => [
        system,
        typeof got === 'string' ? figure(null, got) : get(got),
      ]),
    );
  const ratios = of(({ held, control }) => ({
    value: ratio(held.at(-1), held[0]),
    windows: held,
    note: `${row(held)} a second, its twin ${row(control)} (${ratio(control.at(-1), control[0])?.toFixed(2)})`,
  }));
  const last = of(({ held }) => figure(held.at(-1) ?? null));
  const beside = of(({ held, control }) => figure(ratio(held.at(-1), control.at(-1))));
  const note = `half of the connections, the others beside it without the transaction${more}`;
  return [
    caseOf(run, { name: `held ${name}: last of first`, unit: 'ratio', note }, ratios),
    caseOf(run, { name: `held ${name}: last of its twin's last`, unit: 'ratio' }, beside),
    caseOf(run, { name: `held ${name}: last window`, unit: 'tasks/s' }, { ...last, floor }),
  ];
}

/** Measures all cases. A round takes ten seconds, including the time before its window. */
async function measured(run: Run): Promise<Case[]> {
  const seconds = run.quick ? run.seconds : 7.5;
  const tock = tockOf(run);
  const cases: Case[] = [];
  for (const batch of [1, 100]) {
    const shape = shapeOf(batch);
    const floor = await floorOf(run, 'cycle', shape);
    const systems = batch === 1 && !run.quick ? rivals(run) : [tock];
    const seen = await eachOf(run, systems, (system) =>
      seenBy(run, system, seconds, {
        ready: (database) => stock(run, system, database, shape, seconds),
        work: system.cycle(shape) as Work,
      }),
    );
    cases.push(...casesOf(run, `${batch}`, seen, floor));
    const work = mix(batch);
    // This load leaves tasks that claims find before the first delayed tasks are due.
    const ready = async (database: TestDatabase) => {
      const { rows } = await database.client.query('select from tock.streams limit 1');
      if (rows.length === 0) await run.load(database, work, { seconds: 2 });
      await run.settle(database);
    };
    const mixed = await eachOf(run, [tock], () => seenBy(run, tock, seconds, { ready, work }));
    const more = '; enqueued, claimed and completed or failed; the peers have no comparable call';
    cases.push(...casesOf(run, `${batch}, delayed and retried`, mixed, floor, more));
  }
  return cases;
}

/** Rates during a minute in which a transaction is held open. Peers have one task per call. */
export const groups: Group[] = [{ name: 'held', slow: true, run: measured }];
