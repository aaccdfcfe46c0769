import { connected } from '../cluster.ts';
import { mix } from '../mix.ts';
import type { Case, Figure, Group, Place, Run, System } from '../types.ts';
import { caseOf, cycles, ratio, rounded, shapeOf, stock, tockOf } from '../windows.ts';

const windows = 6;

/** Read-only, repeatable read, and idle after it has read something; returns what ends it. */
async function hold(place: Place): Promise<() => Promise<void>> {
  const client = await connected(place.url);
  await client.query('begin isolation level repeatable read read only');
  await client.query('select count(*) from pg_class');
  return () => client.end();
}

type Ready = (place: Place) => Promise<void>;
type Window = (place: Place) => Promise<number>;
type Seen = { held: number[]; control: [first: number, last: number] };

/** Windows under the held transaction, and in a database without it one before and one after. */
async function seenBy(run: Run, system: System, ready: Ready, window: Window): Promise<Seen> {
  const [place, other] = [await run.open(system), await run.open(system)];
  let release = async () => {};
  try {
    // plans and caches of both as warm as each other's
    for (const one of [other, place]) await ready(one);
    const first = await window(other);
    release = await hold(place);
    const held: number[] = [];
    for (let n = 0; n < windows; n++) {
      if (n > 0) await ready(place);
      held.push(await window(place));
    }
    await release();
    release = async () => {};
    await ready(other);
    return { held, control: [first, await window(other)] };
  } finally {
    await release();
    await run.close(place);
    await run.close(other);
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

function told(run: Run, name: string, seen: Map<System, Seen | string>, note?: string): Case[] {
  const of = (figure: (seen: Seen) => Figure) =>
    Object.fromEntries(
      [...seen].map(([{ name: system }, got]): [string, Figure] => [
        system,
        typeof got === 'string' ? { value: null, windows: [], note: got } : figure(got),
      ]),
    );
  const ratios = of(({ held, control }) => {
    const still = ratio(control[1], control[0])?.toFixed(2);
    const windows = `${held.map(rounded).join(' ')} a second`;
    return {
      value: ratio(held.at(-1), held[0]),
      windows: held,
      note: `${windows}, control ${control.map(rounded).join(' to ')} (${still})`,
    };
  });
  const last = of(({ held }) => ({ value: held.at(-1) ?? null, windows: [] }));
  return [
    caseOf(run, { name: `held ${name}: last of first`, unit: 'ratio', note }, ratios),
    caseOf(run, { name: `held ${name}: last window`, unit: 'tasks/s' }, last),
  ];
}

export const groups: Group[] = [
  {
    name: 'held',
    async run(run) {
      const cases: Case[] = [];
      // a sixth of a minute
      const seconds = run.quick ? 1 : Math.min(10, 2 * run.seconds);
      const tock = tockOf(run);
      for (const batch of [1, 100]) {
        const shape = shapeOf(batch);
        const seen = await eachOf(run, run.quick ? [tock] : run.systems, (system) =>
          seenBy(
            run,
            system,
            (place) => stock(run, system, place, shape, seconds),
            async (place) => (await cycles(run, system, place, shape, seconds)) ?? 0,
          ),
        );
        const note = run.quick ? 'the peers only in the full run' : undefined;
        cases.push(...told(run, `${batch}`, seen, note));
      }
      for (const batch of run.quick ? [1] : [1, 100]) {
        const work = mix(batch);
        // so that claims find something before the first of the delayed are due
        const ready = async (place: Place) => {
          const { rows } = await place.client.query('select from tock.streams limit 1');
          if (rows.length === 0) await run.load(place, work, { seconds: 2 });
          await run.settle(place);
        };
        const window = async (place: Place) => {
          const works = [{ work, clients: run.clients }];
          const got = await run.measure(place, tock, works, seconds);
          return got.finished / got.seconds;
        };
        const seen = await eachOf(run, [tock], () => seenBy(run, tock, ready, window));
        const note = 'enqueued, claimed and completed or failed; the peers have no comparable door';
        cases.push(...told(run, `${batch}, delayed and retried`, seen, note));
      }
      return cases;
    },
  },
];
