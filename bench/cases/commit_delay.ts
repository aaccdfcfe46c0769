import type { Case, Group, Run, System, TestDatabase, Work } from '../types.ts';
import { caseOf, ratio, rounded, shapeOf, tockOf } from '../windows.ts';

const tasks = 60_000;

/** Enqueues tasks in one session, so that one stream has them all. Claims will commit synchronously. */
async function oneStream(database: TestDatabase): Promise<void> {
  for (let n = 0; n < tasks / 5000; n++) {
    await database.client.query(
      `select cardinality(tock.enqueue('one', (select jsonb_agg(jsonb_build_object('payload',
         jsonb_build_object('n', n, 'text', repeat('x', 75)))) from generate_series(1, 5000) n)))`,
    );
  }
  const { rows } = await database.client.query(
    `select count(*) from tock.streams where queue = 'one' and awake`,
  );
  if (Number(rows[0].count) !== 1) throw new Error(`The tasks are in ${rows[0].count} streams.`);
}

const claim = (queue: string, alone: boolean): Work => ({
  by: 'pgbench',
  script: `select lease, id, payload from tock.claim(p_queue => '${queue}', p_own_transaction => ${alone}) \\aset\n`,
});

/** Tock with a count of claims alone: each claim takes one task, so the number of leases is the number of claims. */
const claiming = (tock: System): System => ({
  ...tock,
  async counts(database) {
    const { enqueued } = await tock.counts(database);
    const { rows } = await database.client.query(
      'select count(*)::float8 as claimed from tock.leases',
    );
    return { enqueued, finished: rows[0].claimed };
  },
});

// This is not cycles(), which remembers the speed of a system. With the commit delay the speed is another one.
async function rate(run: Run, system: System, database: TestDatabase, work: Work | null) {
  if (!work) return null;
  const got = await run.measure(database, system, [{ work, clients: run.clients }]);
  return got.finished / got.seconds;
}

async function measured(run: Run): Promise<Case[]> {
  const tock = tockOf(run);
  const shape = shapeOf(1);
  const databases = new Map<System, TestDatabase>();
  const [claims, single] = [await run.open(tock), await run.open(tock)];
  let back: (() => Promise<void>) | undefined;
  try {
    for (const system of [...(run.quick ? [tock] : run.systems), run.floor]) {
      const database = await run.open(system);
      databases.set(system, database);
      await system.fill(database, tasks, shape);
      await run.settle(database);
    }
    await tock.fill(claims, 2 * tasks, shape);
    await oneStream(single);
    for (const database of [claims, single]) await run.settle(database);
    // With these settings every flush waits for 3 ms, even if no other session commits.
    back = await run.configure({ commit_delay: '3000', commit_siblings: '0' });
    const counted = claiming(tock);
    const figures = await run.interleave([
      { name: 'claim 1', window: () => rate(run, counted, claims, claim('q', true)) },
      { name: 'one stream', window: () => rate(run, counted, single, claim('one', false)) },
      ...[...databases].map(([system, database]) => ({
        name: system.name,
        window: () => rate(run, system, database, system.cycle(shape)),
      })),
    ]);
    const [streamFigure, floor] = [figures['one stream'], figures[run.floor.name]];
    const note = `synchronous claims of one stream by as many: ${rounded(streamFigure?.value)} a second`;
    const times = {
      value: ratio(figures['claim 1']?.value, streamFigure?.value),
      windows: (figures['claim 1']?.windows ?? []).map((rate) => rate / (streamFigure?.value ?? 1)),
    };
    const name = (what: string) => `commits of 3 ms: ${what}`;
    return [
      caseOf(run, { name: name('cycle 1'), unit: 'tasks/s' }, figures),
      caseOf(
        run,
        { name: name('claim 1'), unit: 'tasks/s', note },
        { [tock.name]: figures['claim 1'], floor },
      ),
      caseOf(
        run,
        { name: name('claim 1 to synchronous claims of one stream'), unit: 'ratio', note },
        { [tock.name]: times },
      ),
    ];
  } finally {
    await back?.();
    for (const database of [claims, single, ...databases.values()]) await run.close(database);
  }
}

/** Cycles and claims of one task if each flush takes 3 ms. */
export const groups: Group[] = [{ name: 'commit_delay', run: measured }];
