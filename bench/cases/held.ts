import { connected } from '../cluster.ts';
import { mix } from '../mix.ts';
import type { Case, Figure, Group, Place, Run, System, Work } from '../types.ts';
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

/** Read-only, repeatable read, and idle after it has read something; returns what ends it. */
async function hold(place: Place): Promise<() => Promise<void>> {
  const client = await connected(place.url);
  await client.query('begin isolation level repeatable read read only');
  await client.query('select count(*) from pg_class');
  return () => client.end();
}

type Twin = { ready(place: Place): Promise<void>; work: Work };
type Seen = { held: number[]; control: number[] };

/**
 * Two databases of a system at work side by side, with half of the connections each, and in one of them
 * the held transaction: whatever else changes in the minute changes for both.
 */
async function seenBy(
  run: Run,
  system: System,
  seconds: number,
  { ready, work }: Twin,
): Promise<Seen> {
  const places = [await run.open(system), await run.open(system)] as const;
  const sides = places.map((place) => ({
    place,
    system,
    works: [{ work, clients: run.clients / 2 }],
  }));
  const seen: Seen = { held: [], control: [] };
  let release = async () => {};
  try {
    for (let n = 0; n < windows; n++) {
      for (const place of places) await ready(place);
      if (n === 0) release = await hold(places[0]);
      const got = await run.together(sides, seconds);
      const [held, control] = got.map((one) => one.finished / one.seconds);
      seen.held.push(held ?? 0);
      seen.control.push(control ?? 0);
    }
    return seen;
  } finally {
    await release();
    for (const place of places) await run.close(place);
  }
}

/** All of them, each by itself: a failure is the system's own note. */
async function eachOf(
  run: Run,
  systems: System[],
  one: (system: System) => Promise<Seen>,
): Promise<Map<System, Seen | string>> {
  const all = new Map<System, Seen | string>();
  for (const system of systems) {
    const window = async () => {
      if (!all.has(system)) all.set(system, await one(system));
      return null;
    };
    const { note } = (await run.interleave([{ name: `held: ${system.name}`, window }]))[
      `held: ${system.name}`
    ] as Figure;
    if (note) all.set(system, note);
  }
  return all;
}

function told(
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

/** A round takes ten seconds, with what comes before its window. */
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
        ready: (place) => stock(run, system, place, shape, seconds),
        work: system.cycle(shape) as Work,
      }),
    );
    cases.push(...told(run, `${batch}`, seen, floor));
    const work = mix(batch);
    // so that claims find something before the first of the delayed are due
    const ready = async (place: Place) => {
      const { rows } = await place.client.query('select from tock.streams limit 1');
      if (rows.length === 0) await run.load(place, work, { seconds: 2 });
      await run.settle(place);
    };
    const mixed = await eachOf(run, [tock], () => seenBy(run, tock, seconds, { ready, work }));
    const more = '; enqueued, claimed and completed or failed; the peers have no comparable door';
    cases.push(...told(run, `${batch}, delayed and retried`, mixed, floor, more));
  }
  return cases;
}

/** Rates in a minute in which a transaction is held open; the peers only at one a call. */
export const groups: Group[] = [{ name: 'held', slow: true, run: measured }];
