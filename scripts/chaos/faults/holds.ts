import type pg from 'pg';
import { migrate } from '../../../migrate/migrate.ts';
import { withClient } from '../../stack/roles.ts';
import { type Chaos, whileGoing } from '../chaos.ts';
import { codeOf } from '../drivers/sql.ts';
import { dice, pause, type Random } from '../random.ts';
import { nextSegment } from '../segments.ts';
import type { Effect, Fault, FaultName } from './plan.ts';
import { enqueueOwn, holdOpen, holdSnapshot, prepare, workIn } from './sessions.ts';

/** As the edge, through the pooler, sessions that do nothing: the next calls wait in line, one of ours among them. */
async function fillPool({ stack }: Chaos, wait: (fault: Fault) => Promise<void>, fault: Fault) {
  // default_pool_size of scripts/stack/pooler.ts
  const sessions = await Promise.allSettled(
    Array.from({ length: 20 }, () => stack.connect(stack.pooledUrl)),
  );
  const open = sessions.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  try {
    await Promise.all(open.map((on) => on.query('begin; select 1').catch(() => null)));
    const next = await stack.connect(stack.pooledUrl, 5);
    open.push(next);
    const full = await Promise.race([
      next.query('select 1').then(() => 0),
      pause(100).then(() => 1),
    ]);
    await wait(fault);
    return full;
  } finally {
    for (const on of open) void on.end().catch(() => {});
  }
}

/**
 * Two that do the same in opposite orders; one of them is refused, and it is the server that finds them. Whoever
 * is through, or refused, lets go: the other would wait for it for ever. Returns how many were refused.
 */
async function crosswise(chaos: Chaos, first: string[], second: string[]): Promise<number> {
  const { stack, ledger } = chaos;
  const sessions = await Promise.all([stack.connect(), stack.connect()]);
  let refused = 0;
  const doing = (on: pg.Client, texts: string[]) =>
    (async () => {
      for (const text of texts) await on.query(text);
    })().catch((error) => {
      const code = codeOf(error);
      if (code === '40P01') refused++;
      ledger.count(`crosswise: ${code}`);
    });
  const each = (cut: (texts: string[]) => string[]) =>
    Promise.all(sessions.map((on, at) => doing(on, cut(at === 0 ? first : second))));
  try {
    await each((texts) => ['begin', ...texts.slice(0, -1)]);
    await each((texts) => [...texts.slice(-1), 'rollback']);
    return refused;
  } finally {
    for (const on of sessions) void on.end().catch(() => {});
  }
}

/** Two waiting tasks of its own, which no other client changes. */
async function deadlock(chaos: Chaos): Promise<number> {
  const ids = await withClient(chaos.stack.ownerUrl, (on) => enqueueOwn(chaos, on, 2, 5));
  const [one = '', other = ''] = ids.map(
    (id) => `select tock.change(array[${id}]::bigint[], '{"priority": 4}')`,
  );
  return crosswise(chaos, [one, other], [other, one]);
}

const tables = ['streams', 'waiting', 'leases', 'turns', 'unique_keys', 'maintenance_jobs'];

/** As an owner might in psql: rows of two tables, in opposite orders, for a while; the next time of two others. */
async function lockRows(chaos: Chaos, random: Random, { holds }: Fault): Promise<number> {
  const [a, b] = tables.toSorted(() => random(3) - 1);
  const rowsOf = (table: string | undefined) =>
    `select from tock.${table} t where t.ctid = any (array(select ctid from tock.${table} order by 1 desc limit 50)) for update`;
  const wait = `select pg_sleep(${Math.min(holds, 3000) / 1000})`;
  let blocked = 0;
  const look = pause(Math.min(holds, 3000) * 0.9).then(async () => {
    blocked = await withClient(chaos.stack.superUrl, (on) => on.query(waiting)).then(
      ({ rows }) => rows[0].many,
      () => 0,
    );
  });
  const refused = await crosswise(
    chaos,
    [rowsOf(a), wait, rowsOf(b)],
    [rowsOf(b), wait, rowsOf(a)],
  );
  await look;
  return refused + blocked;
}

const waiting =
  "select count(*)::integer as many from pg_stat_activity where wait_event_type = 'Lock'";

async function migrateTwice({ stack, ledger }: Chaos): Promise<number> {
  const directory = process.env.TOCK_SQL_DIRECTORY;
  const both = await Promise.allSettled([
    migrate(stack.ownerUrl, { directory }),
    migrate(stack.ownerUrl, { directory }),
  ]);
  let through = 0;
  for (const one of both) {
    if (one.status === 'rejected') {
      ledger.count(`migrator: ${codeOf(one.reason)}`);
    } else {
      through++;
      ledger.count('migrator: nothing to do');
      if (one.value.applied.length > 0)
        ledger.differ('a migration was applied twice', 0, one.value.applied.join());
    }
  }
  return through;
}

/** Until work has come into the next segment. */
async function endSegment(chaos: Chaos): Promise<number> {
  const { stack } = chaos;
  const now = () =>
    withClient(stack.ownerUrl, (on) => on.query('select tock.newest_segment() as number')).then(
      ({ rows }) => Number(rows[0].number),
      () => null,
    );
  const before = await now();
  if (before === null) return 0;
  await withClient(stack.ownerUrl, (on) => nextSegment(chaos, on, 50));
  for (const end = performance.now() + 15_000; chaos.going && performance.now() < end; ) {
    await pause(250);
    if (((await now()) ?? before) > before) return 1;
  }
  return 0;
}

/** The faults that last, or that others bring about in SQL. */
export function holding(chaos: Chaos): Partial<Record<FaultName, Effect>> {
  const { stack } = chaos;
  const wait = ({ holds }: Fault) => whileGoing(chaos, holds);
  const rows = dice(7);
  const asSuper = (text: string) => withClient(stack.superUrl, (on) => on.query(text));
  return {
    'pool filled': (fault) => fillPool(chaos, wait, fault),
    'transaction held open': (fault) => holdOpen(chaos, fault),
    'transaction prepared': (fault) => prepare(chaos, fault),
    'work in a transaction': (fault) => workIn(chaos, fault),
    'snapshot held open': (fault) => holdSnapshot(chaos, fault),
    'segment ended': () => endSegment(chaos),
    'database dumped': async () => {
      const dump = [
        `${stack.host.bin}/pg_dump`,
        '--schema=tock',
        '--file=/dev/null',
        stack.ownerUrl,
      ];
      await stack.host.run(dump);
      return 1;
    },
    'pg_cron stopped': async (fault) => {
      const { rowCount } = await asSuper('update cron.job set active = false');
      await wait(fault);
      await cronOn(chaos);
      return rowCount ?? 0;
    },
    // It comes back with the next start of the server.
    'pg_cron launcher ended': async () =>
      (
        await asSuper(
          "select pg_terminate_backend(pid) from pg_stat_activity where backend_type = 'pg_cron launcher'",
        )
      ).rowCount ?? 0,
    'two migrators': () => migrateTwice(chaos),
    deadlock: () => deadlock(chaos),
    'rows locked by the owner': (fault) => lockRows(chaos, rows, fault),
  };
}

/** Until it is done. */
export async function cronOn({ stack }: Chaos): Promise<void> {
  if (!stack.host.cron) return;
  for (let attempt = 0; attempt < 100; attempt++) {
    const done = await withClient(stack.superUrl, (on) =>
      on.query('update cron.job set active = true'),
    ).catch(() => null);
    if (done) return;
    await pause(100);
  }
}
