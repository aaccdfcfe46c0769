import type { Figure, Group, Place, Run, System, Work } from '../types.ts';
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

const synchronous: Work = {
  by: 'pgbench',
  script: `select coalesce(max(lease::text), '00000000-0000-0000-0000-000000000000') as lease, sum(length(payload::text)) as bytes from tock.claim(p_queue => 'one') \\gset
select * from tock.complete(:lease);
`,
};

// not cycles(), which remembers how fast a system is: these commits are nobody else's
async function rate(run: Run, system: System, place: Place, work: Work | null) {
  if (!work) return null;
  const seconds = Math.min(run.seconds, 4);
  const got = await run.measure(place, system, [{ work, clients: run.clients }], seconds);
  return got.finished / got.seconds;
}

export const groups: Group[] = [
  {
    name: 'commit_delay',
    async run(run) {
      const tock = tockOf(run);
      const shape = shapeOf(1);
      const places = new Map<System, Place>();
      const single = await run.open(tock);
      let back: (() => Promise<void>) | undefined;
      try {
        for (const system of run.quick ? [tock] : run.systems) {
          const place = await run.open(system);
          places.set(system, place);
          await system.fill(place, tasks, shape);
          await run.settle(place);
        }
        await oneStream(single);
        await run.settle(single);
        // every flush waits for 3 ms, whoever else is at work
        back = await run.configure({ commit_delay: '3000', commit_siblings: '0' });
        const name = 'one stream, synchronous';
        const figures = await run.interleave([
          { name, window: () => rate(run, tock, single, synchronous) },
          ...[...places].map(([system, place]) => ({
            name: system.name,
            window: () => rate(run, system, place, system.cycle(shape)),
          })),
        ]);
        const one = figures[name];
        const times: Figure = {
          value: ratio(figures[tock.name]?.value, one?.value),
          windows: (figures[tock.name]?.windows ?? []).map((rate) => rate / (one?.value ?? 1)),
        };
        const against = `synchronous claims of one stream, completed: ${rounded(one?.value)} a second`;
        return [
          caseOf(
            run,
            { name: 'commits of 3 ms: cycle 1', unit: 'tasks/s', note: against },
            figures,
          ),
          caseOf(
            run,
            {
              name: 'commits of 3 ms: cycle 1 to synchronous claims of one stream',
              unit: 'ratio',
              note: against,
            },
            { [tock.name]: times },
          ),
        ];
      } finally {
        await back?.();
        for (const place of [single, ...places.values()]) await run.close(place);
      }
    },
  },
];
