import type { Case, Figure, Run, Shape, System, TestDatabase } from './types.ts';

export { median } from './interleave.ts';

/** The shape of a case: 100 bytes per payload and one queue, unless the case sets others. */
export const shapeOf = (batch: number, more: Partial<Shape> = {}): Shape => ({
  batch,
  bytes: 100,
  queues: 1,
  ...more,
});

const isTock = (system: System): boolean => system.name.toLowerCase() === 'tock';

export const tockOf = (run: Run): System => {
  const tock = run.systems.find(isTock);
  if (!tock) throw new Error('Tock is not among the systems.');
  return tock;
};

/** Seconds of unmeasured work before a window. */
export const warmUp = (seconds: number): number => Math.min(seconds / 2, 1);

/** The peers among which the best is searched. */
export const best = ['graphile-worker', 'pg-boss', 'single table'];

/** Tock, and those of the peers above that were selected. */
export const rivals = (run: Run): System[] =>
  run.systems.filter((system) => isTock(system) || best.includes(system.name));

export const ratio = (above?: number | null, below?: number | null): number | null =>
  above && below ? above / below : null;

export const rounded = (value?: number | null): string =>
  value === null || value === undefined ? 'not measured' : Math.round(value).toLocaleString('en');

/** Builds a case from the figures of all systems and the floor, by name. The peers' notes follow the case's own. */
export function caseOf(
  run: Run,
  named: { name: string; unit: string; note?: string },
  figures: Record<string, Figure | undefined>,
): Case {
  const notes = named.note ? [named.note] : [];
  const windows: Record<string, number[]> = {};
  const peers: Case['peers'] = {};
  for (const system of run.systems) {
    const figure = figures[system.name];
    if (figure?.note) notes.push(`${system.name}: ${figure.note}`);
    if (figure && figure.windows.length > 0) windows[system.name] = figure.windows;
    if (!isTock(system)) peers[system.name] = figure?.value ?? null;
  }
  const tock = figures[tockOf(run).name]?.value ?? null;
  const least = figures[run.floor.name];
  if (least && least.windows.length > 0) windows[run.floor.name] = least.windows;
  const { name, unit } = named;
  const floor = least?.value ?? null;
  return { name, unit, tock, floor, peers, note: notes.join('; '), windows };
}

/** The fastest rate of each system so far, in tasks per second. It tells how many tasks a window may need. */
const seen = new Map<string, number>();
const keyOf = (system: System, shape: Shape) =>
  `${system.name} ${shape.batch} ${shape.bytes} ${shape.queues > 1}`;

/** Adds tasks until `least` will still be ready after a warm-up and a window of cycles. Then settles the database. */
export async function stock(
  run: Run,
  system: System,
  database: TestDatabase,
  shape: Shape,
  seconds: number,
  least = system.least?.(shape) ?? 0,
): Promise<void> {
  const fillUp = async (want: number) => {
    const { enqueued, finished } = await system.counts(database);
    const missing = Math.ceil(want) - (enqueued - finished);
    if (missing > 0) await system.fill(database, missing, shape);
  };
  const key = keyOf(system, shape);
  const work = system.cycle(shape);
  // How much the first window needs is unknown, so it may run out of tasks. It shows how much later windows need.
  let guess = Math.min(10_000 * shape.batch, 100_000) / Math.max(1, shape.bytes / 1000);
  for (let tries = 0; work && !seen.has(key); guess *= 4, tries++) {
    await fillUp(Math.max(least, guess));
    try {
      const probe = await run.measure(database, system, [{ work, clients: run.clients }], 1);
      seen.set(key, probe.finished / probe.seconds);
    } catch (error) {
      // They may be gone before the window begins.
      if (tries > 3 || !/ran out of tasks|No task was done/.test(String(error))) throw error;
    }
  }
  // The half second is for the time until all clients wait at the barrier.
  const taken = (seen.get(key) ?? 0) * (seconds + warmUp(seconds) + 0.5) * 1.3;
  await fillUp(least + taken + 50 * shape.batch);
  await run.settle(database);
}

/** Runs one window of claims and completions over all clients. Returns tasks per second; null without such a call. */
export async function cycles(
  run: Run,
  system: System,
  database: TestDatabase,
  shape: Shape,
  seconds = run.seconds,
): Promise<number | null> {
  const work = system.cycle(shape);
  if (!work) return null;
  const got = await run.measure(database, system, [{ work, clients: run.clients }], seconds);
  const rate = got.finished / got.seconds;
  const key = keyOf(system, shape);
  seen.set(key, Math.max(rate, seen.get(key) ?? 0));
  return rate;
}

/** A figure that is only a value. */
export const figure = (value: number | null, note?: string): Figure => ({
  value,
  windows: [],
  ...(note && { note }),
});

/** Runs one window of enqueues. Returns tasks per second; null without such a call. */
export async function enqueues(
  run: Run,
  system: System,
  database: TestDatabase,
  shape: Shape,
  seconds = run.seconds,
): Promise<number | null> {
  const work = system.enqueue(shape);
  if (!work) return null;
  const got = await run.measure(database, system, [{ work, clients: run.clients }], seconds);
  return got.enqueued / got.seconds;
}

const floors = new Map<string, Figure>();
const floorKey = (verb: Verb, { batch, bytes }: Shape) => `${verb} ${batch} ${bytes}`;

/** Stores the floor's figure for later cases. */
export const keepFloor = (verb: Verb, shape: Shape, figure: Figure) =>
  void floors.set(floorKey(verb, shape), figure);

/** The floor's figure for as many rows per call, inserted or, for a cycle, updated. It is measured once. */
export async function floorOf(run: Run, verb: Verb, shape: Shape): Promise<Figure> {
  const known = floors.get(floorKey(verb, shape));
  if (known) return known;
  const database = await run.open(run.floor);
  try {
    const name = `floor of ${floorKey(verb, shape)}`;
    const window = () => rates[verb](run, run.floor, database, shape);
    const floorFigure = (await run.interleave([{ name, window }]))[name] as Figure;
    keepFloor(verb, shape, floorFigure);
    return floorFigure;
  } finally {
    await run.close(database);
  }
}

const rates = { enqueue: enqueues, cycle: cycles };
export type Verb = keyof typeof rates;
