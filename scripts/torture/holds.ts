import type pg from 'pg';
import { migrate } from '../../cli/migrate.ts';
import { dice, pause, type Random } from '../soak/clock.ts';
import { codeOf } from '../soak/codes.ts';
import { nextEpoch, whileGoing } from '../soak/others.ts';
import { withClient } from '../stack/roles.ts';
import type { Fault, FaultName } from './plan.ts';
import { batchOf } from './tasks.ts';
import type { Torture } from './torture.ts';

type Hold = (fault: Fault) => Promise<unknown>;

/** As the edge, through the pooler, sessions that do nothing: the next calls wait in line. */
async function fillPool({ stack }: Torture, wait: (fault: Fault) => Promise<void>, fault: Fault) {
  // default_pool_size of scripts/stack/pooler.ts
  const sessions = await Promise.allSettled(
    Array.from({ length: 20 }, () => stack.connect(stack.pooledUrl)),
  );
  const open = sessions.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  try {
    await Promise.all(open.map((on) => on.query('begin; select 1')));
    await wait(fault);
  } finally {
    for (const on of open) void on.end().catch(() => {});
  }
}

/** Takes the ids of the tasks that it enqueues in a transaction of its own, and tells what became of them. */
async function enqueueIn(
  torture: Torture,
  on: pg.Client,
  random: Random,
  end: (numbers: number[]) => Promise<'sure' | 'none'>,
): Promise<void> {
  const { facts } = torture;
  const call = `transaction ${Date.now()} ${random(1e6)}`;
  const { queue, tasks, asks } = batchOf(random, call, torture.take);
  const numbers = asks.map(({ n }) => n);
  for (const ask of asks) facts.asked(ask);
  let ids: string[] = [];
  try {
    await on.query('begin');
    const { rows } = await on.query('select tock.enqueue(p_queue => $1, p_tasks => $2) as ids', [
      queue,
      JSON.stringify(tasks),
    ]);
    ids = rows[0].ids;
  } catch (error) {
    // Nothing was committed, and nothing will be.
    facts.settled(Date.now(), numbers, 'none');
    throw error;
  }
  const fate = await end(numbers);
  facts.settled(Date.now(), numbers, fate, fate === 'sure' ? ids : []);
}

async function holdOpen(torture: Torture, fault: Fault): Promise<void> {
  const random = dice(fault.pick);
  const on = await torture.stack.connect();
  try {
    await enqueueIn(torture, on, random, async (numbers) => {
      const ids = torture.facts.claims.at(-1)?.runs.map(({ id }) => id) ?? [];
      for (const id of ids) torture.facts.wants(id);
      const commits = fault.pick % 3 > 0;
      const over = async () => {
        if (ids.length > 0) await on.query('select tock.cancel(p_ids => $1)', [ids]);
        // Over several other faults; a kill of the server rolls it back.
        await whileGoing(torture, fault.holds * 2);
      };
      await over().catch((error) => {
        torture.facts.settled(Date.now(), numbers, 'none');
        throw error;
      });
      await on.query(commits ? 'commit' : 'rollback');
      return commits ? 'sure' : 'none';
    });
  } finally {
    void on.end().catch(() => {});
  }
}

/** Two-phase: from `prepare` on it outlives its session and a crash, and somebody else ends it. */
async function prepare(torture: Torture, fault: Fault): Promise<void> {
  const name = `torture ${fault.pick} ${fault.at}`;
  const fate = fault.pick % 3 > 0 ? 'sure' : 'none';
  const on = await torture.stack.connect();
  try {
    await enqueueIn(torture, on, dice(fault.pick), async () => {
      const told = await on.query(`prepare transaction '${name}'`).then(
        () => true,
        () => false,
      );
      await whileGoing(torture, fault.holds * 2);
      const finish = `${fate === 'sure' ? 'commit' : 'rollback'} prepared '${name}'`;
      const attempts = await ended(torture, finish);
      if (told || attempts.ended) return fate;
      if (attempts.count === 1) return 'none';
      throw new Error('connection lost: nobody knows whether it was prepared');
    });
  } finally {
    void on.end().catch(() => {});
  }
}

/** Again and again, as it must not stay: until it is done, or there is none of that name. */
async function ended({ stack }: Torture, finish: string) {
  for (let count = 1; ; count++) {
    const code = await withClient(stack.ownerUrl, (on) => on.query(finish)).then(
      () => '',
      (error) => codeOf(error),
    );
    if (code === '' || code === '42704') return { count, ended: code === '' };
    await pause(100);
  }
}

/** Two that do the same in opposite orders; one of them is refused, and it is the server that finds them. */
async function crosswise(torture: Torture, first: string[], second: string[]): Promise<void> {
  const { stack, ledger } = torture;
  const sessions = await Promise.all([stack.connect(), stack.connect()]);
  try {
    await Promise.all(sessions.map((on) => on.query('begin')));
    const refused = new Set<pg.Client>();
    for (let step = 0; step < first.length; step++) {
      await Promise.all(
        sessions.map(async (on, at) => {
          if (refused.has(on)) return;
          const text = [first, second][at]?.[step] ?? 'select 1';
          await on.query(text).catch((error) => {
            refused.add(on);
            ledger.count(`crosswise: ${codeOf(error)}`);
          });
        }),
      );
    }
    await Promise.allSettled(sessions.map((on) => on.query('rollback')));
  } finally {
    for (const on of sessions) void on.end().catch(() => {});
  }
}

async function deadlock(torture: Torture): Promise<void> {
  const ids = [...torture.facts.asks.values()]
    .slice(-200)
    .flatMap(({ id, queue }) => (id && queue === 'plain' ? [id] : []))
    .slice(-6);
  const [one, other] = [ids[0], ids.at(-1)];
  if (!one || !other) return;
  const change = (id: string) =>
    `select tock.change(array[${id}]::bigint[], '{"delay_seconds": 0.5}')`;
  await crosswise(torture, [change(one), change(other)], [change(other), change(one)]);
}

const tables = ['streams', 'waiting', 'leases', 'turns', 'unique_keys', 'duties'];

/** As an owner might in psql: rows of two tables, in opposite orders, for a while. */
async function lockRows(torture: Torture, { pick, holds }: Fault): Promise<void> {
  const random = dice(pick);
  const [a, b] = tables.toSorted(() => random(3) - 1);
  const rowsOf = (table: string | undefined, order: string) =>
    `select from tock.${table} t where t.ctid = any (array(select ctid from tock.${table} order by 1 ${order} limit 50)) for update`;
  const wait = `select pg_sleep(${Math.min(holds, 3000) / 1000})`;
  await crosswise(
    torture,
    [rowsOf(a, ''), wait, rowsOf(b, '')],
    [rowsOf(b, 'desc'), wait, rowsOf(a, 'desc')],
  );
}

async function migrateTwice({ stack, ledger }: Torture): Promise<void> {
  const directory = process.env.TOCK_SQL_DIRECTORY;
  const both = await Promise.allSettled([
    migrate(stack.ownerUrl, { directory }),
    migrate(stack.ownerUrl, { directory }),
  ]);
  for (const one of both) {
    if (one.status === 'rejected') {
      ledger.count(`migrator: ${codeOf(one.reason)}`);
    } else {
      ledger.count('migrator: nothing to do');
      if (one.value.applied.length > 0)
        ledger.differ('a migration was applied twice', 0, one.value.applied.join());
    }
  }
}

/** The faults that last, or that others bring about in SQL. */
export function holding(torture: Torture): Partial<Record<FaultName, Hold>> {
  const { stack } = torture;
  const wait = ({ holds }: Fault) => whileGoing(torture, holds);
  const asSuper = (text: string) => withClient(stack.superUrl, (on) => on.query(text));
  return {
    'pool filled': (fault) => fillPool(torture, wait, fault),
    'transaction held open': (fault) => holdOpen(torture, fault),
    'transaction prepared': (fault) => prepare(torture, fault),
    'epoch ended': () => withClient(stack.ownerUrl, (on) => nextEpoch(torture, on)),
    'pg_cron stopped': async (fault) => {
      await asSuper('update cron.job set active = false');
      await wait(fault);
      await cronOn(torture);
    },
    // It comes back with the next start of the server.
    'pg_cron launcher ended': () =>
      asSuper(
        "select pg_terminate_backend(pid) from pg_stat_activity where backend_type = 'pg_cron launcher'",
      ),
    'two migrators': () => migrateTwice(torture),
    deadlock: () => deadlock(torture),
    'rows locked by the owner': (fault) => lockRows(torture, fault),
  };
}

/** Until it is done. */
export async function cronOn({ stack }: Torture): Promise<void> {
  if (!stack.host.cron) return;
  for (let attempt = 0; attempt < 100; attempt++) {
    const done = await withClient(stack.superUrl, (on) =>
      on.query('update cron.job set active = true'),
    ).catch(() => null);
    if (done) return;
    await pause(100);
  }
}
