import { migrate } from '../../cli/migrate.ts';
import { pause } from '../soak/clock.ts';
import { codeOf } from '../soak/codes.ts';
import { nextEpoch } from '../soak/others.ts';
import type { Soak } from '../soak/soak.ts';
import { withClient } from '../stack/roles.ts';
import type { Crew } from './crew.ts';
import { type Fault, type Kind, ways } from './plan.ts';
import type { Harm } from './proxy.ts';
import { queues } from './queues.ts';
import type { Torture } from './torture.ts';

const backends = `backend_type = 'client backend'`;
const processes = `backend_type in ('autovacuum launcher', 'autovacuum worker', 'background writer', 'checkpointer',
  'walwriter', 'pg_cron launcher', 'pg_cron', 'logical replication launcher')`;

export function openFaults(torture: Torture, crew: Crew) {
  const { stack, ledger } = torture;
  const { host, superUrl, ownerUrl, pooledUrl } = stack;

  async function answering(): Promise<void> {
    for (;;) {
      const up = await withClient(superUrl, (on) => on.query('select 1')).catch(() => null);
      if (up) return;
      await pause(50);
    }
  }

  async function killOne(which: string, chance: number): Promise<void> {
    const { rows } = await withClient(superUrl, (on) =>
      on.query(
        `select pid from pg_stat_activity where pid <> pg_backend_pid() and ${which} order by pid`,
      ),
    );
    const pid = rows[chance % Math.max(1, rows.length)]?.pid;
    if (!pid) return;
    await host.kill9(pid);
    await answering();
  }

  /** As long as it goes on, what it holds is held. */
  async function held(
    texts: string[],
    seconds: number,
    end: string,
    url = ownerUrl,
  ): Promise<void> {
    const on = await stack.connect(url);
    try {
      for (const text of texts) await on.query(text);
      const until = performance.now() + seconds * 1000;
      while (torture.going && performance.now() < until) await pause(100);
      await on.query(end);
    } finally {
      await on.end().catch(() => {});
    }
  }

  /** Two transactions that take the same two in opposite order; one of them is undone. */
  async function crossed(one: string, other: string): Promise<void> {
    const [a, b] = [await stack.connect(), await stack.connect()];
    try {
      await Promise.all([a.query('begin'), b.query('begin')]);
      await Promise.all([a.query(one), b.query(other)]);
      const ends = await Promise.allSettled([a.query(other), b.query(one)]);
      for (const end of ends) {
        if (end.status === 'rejected') ledger.count(`undone by a deadlock: ${codeOf(end.reason)}`);
      }
      // What they were after is nobody's task.
      await Promise.allSettled([a.query('rollback'), b.query('rollback')]);
    } finally {
      await Promise.all([a.end().catch(() => {}), b.end().catch(() => {})]);
    }
  }

  const row = (queue: string) => `select from tock.queues where name = '${queue}' for update`;
  const keyed = (key: string) =>
    `select tock.enqueue('crossed', '[{"unique_key": "${key}", "on_conflict": "replace"}]')`;

  const deeds: Record<string, (chance: number) => Promise<unknown>> = {
    'kill -9 of the server': () => stack.killServer(),
    'kill -9 of a backend': (chance) => killOne(backends, chance),
    'kill -9 of a process of the server': (chance) => killOne(processes, chance),
    'kill -9 of PgBouncer': () => stack.killPooler(),
    'kill -9 of workerd': () => stack.killEdge(),
    'kill -9 of a worker': async (chance) => crew.kill(chance),
    'pool filled': (chance) =>
      Promise.all(
        Array.from({ length: 45 }, () =>
          held(['begin', 'select 1'], 1 + (chance % 4), 'commit', pooledUrl).catch(() => {}),
        ),
      ),
    'transaction held open': async (chance) => {
      const numbers = ledger.take(3);
      const tasks = JSON.stringify(numbers.map((n) => ({ payload: { n } })));
      const end = chance % 2 ? 'commit' : 'rollback';
      const enqueue = `select tock.enqueue('${queues.plain}', '${tasks}')`;
      try {
        await held(['begin', enqueue], 2 + (chance % 8), end);
        if (end === 'rollback') ledger.undone(numbers);
        else for (const n of numbers) ledger.expect(n, 1, 1);
      } catch (error) {
        ledger.unsure(numbers);
        throw error;
      }
    },
    'snapshot held open': (chance) =>
      held(
        ['begin isolation level repeatable read', 'select count(*) from tock.waiting'],
        5 + (chance % 20),
        'commit',
      ),
    'epoch ended': () => withClient(ownerUrl, (on) => nextEpoch({ ledger } as unknown as Soak, on)),
    'pg_cron stopped': async (chance) => {
      const jobs = (active: boolean) =>
        withClient(superUrl, (on) => on.query('update cron.job set active = $1', [active]));
      await jobs(false);
      await killOne(`backend_type = 'pg_cron launcher'`, chance);
      await pause(1000 * (1 + (chance % 6)));
      for (;;) {
        if (await jobs(true).catch(() => null)) return;
        await pause(100);
      }
    },
    'two migrators': async () => {
      const again = () => migrate(ownerUrl, { directory: process.env.TOCK_SQL_DIRECTORY });
      const both = await Promise.allSettled([again(), again()]);
      for (const one of both) {
        if (one.status === 'rejected') ledger.count(`a migrator gave up: ${codeOf(one.reason)}`);
      }
    },
    'deadlock of rows': () => crossed(row(queues.plain), row(queues.gated)),
    'deadlock of unique keys': () => crossed(keyed('a'), keyed('b')),
  };

  return async function strike({ kind, chance }: Fault): Promise<void> {
    const deed = deeds[kind];
    if (deed) {
      const begun = performance.now();
      await deed(chance).then(
        () => ledger.count(`survived: ${kind}`),
        // The server may just be gone: then it was another fault that came.
        (error) => ledger.count(`overtaken: ${kind}: ${codeOf(error)}`),
      );
      return void ledger.count('milliseconds in faults', Math.round(performance.now() - begun));
    }
    const [harm, way] = kind.split(', ') as [Harm, (typeof ways)[number]];
    // How many it met is counted by the way itself.
    stack.ways[ways.indexOf(way)]?.harm(harm, 1 + (chance % 5), 100 + (chance % 2000));
  };
}

/** Each fault at its time, whatever else is still going on; kinds that stop the same part take turns. */
export async function strikeAll(
  torture: Torture,
  plan: Fault[],
  strike: (fault: Fault) => Promise<void>,
): Promise<void> {
  const begun = performance.now();
  const turns = new Map<string, Promise<void>>();
  const partOf = (kind: Kind) => (/server|backend|cron|migrat/.test(kind) ? 'server' : kind);
  for (const fault of plan) {
    while (torture.going && performance.now() - begun < fault.at) await pause(20);
    if (!torture.going) break;
    const part = partOf(fault.kind);
    const before = turns.get(part) ?? Promise.resolve();
    turns.set(
      part,
      before.then(() => strike(fault)),
    );
  }
  await Promise.all(turns.values());
}
