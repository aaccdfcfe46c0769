import type { Case, Group, Place, Run, System, Work } from '../types.ts';
import { caseOf, ratio, rounded, shapeOf, tockOf } from '../windows.ts';

const tasks = 60_000;

/** Tasks enqueued by one session, so that one stream has them all, and claims that commit as sessions do. */
async function oneStream(place: Place): Promise<void> {
  for (let n = 0; n < tasks / 5000; n++) {
    await place.client.query(
      `select cardinality(tock.enqueue('one', (select jsonb_agg(jsonb_build_object('payload',
         jsonb_build_object('n', n, 'text', repeat('x', 75)))) from generate_series(1, 5000) n)))`,
    );
  }
  const { rows } = await place.client.query(
    `select count(*) from tock.streams where queue = 'one' and awake`,
  );
  if (Number(rows[0].count) !== 1) throw new Error(`The tasks are in ${rows[0].count} streams.`);
}

const claim = (queue: string, alone: boolean): Work => ({
  by: 'pgbench',
  script: `select lease, id, payload from tock.claim(p_queue => '${queue}', p_own_transaction => ${alone}) \\aset\n`,
});

/** Tock, of which only claims are counted: a lease each, as they take one task. */
const claiming = (tock: System): System => ({
  ...tock,
  async counts(place) {
    const { enqueued } = await tock.counts(place);
    const { rows } = await place.client.query(
      'select count(*)::float8 as claimed from tock.leases',
    );
    return { enqueued, finished: rows[0].claimed };
  },
});

// not cycles(), which remembers how fast a system is: these commits are nobody else's
async function rate(run: Run, system: System, place: Place, work: Work | null) {
  if (!work) return null;
  const got = await run.measure(place, system, [{ work, clients: run.clients }]);
  return got.finished / got.seconds;
}

async function measured(run: Run): Promise<Case[]> {
  const tock = tockOf(run);
  const shape = shapeOf(1);
  const places = new Map<System, Place>();
  const [claims, single] = [await run.open(tock), await run.open(tock)];
  let back: (() => Promise<void>) | undefined;
  try {
    for (const system of [...(run.quick ? [tock] : run.systems), run.floor]) {
      const place = await run.open(system);
      places.set(system, place);
      await system.fill(place, tasks, shape);
      await run.settle(place);
    }
    await tock.fill(claims, 2 * tasks, shape);
    await oneStream(single);
    for (const place of [claims, single]) await run.settle(place);
    // every flush waits for 3 ms, whoever else is at work
    back = await run.configure({ commit_delay: '3000', commit_siblings: '0' });
    const counted = claiming(tock);
    const figures = await run.interleave([
      { name: 'claim 1', window: () => rate(run, counted, claims, claim('q', true)) },
      { name: 'one stream', window: () => rate(run, counted, single, claim('one', false)) },
      ...[...places].map(([system, place]) => ({
        name: system.name,
        window: () => rate(run, system, place, system.cycle(shape)),
      })),
    ]);
    const [one, floor] = [figures['one stream'], figures[run.floor.name]];
    const note = `synchronous claims of one stream by as many: ${rounded(one?.value)} a second`;
    const times = {
      value: ratio(figures['claim 1']?.value, one?.value),
      windows: (figures['claim 1']?.windows ?? []).map((rate) => rate / (one?.value ?? 1)),
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
    for (const place of [claims, single, ...places.values()]) await run.close(place);
  }
}

/** Where each flush takes 3 ms: cycles and claims, one a call. */
export const groups: Group[] = [{ name: 'commit_delay', run: measured }];
