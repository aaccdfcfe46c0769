import type pg from 'pg';
import { migrate } from '../../../migrate/migrate.ts';
import { withClient } from '../../stack/roles.ts';
import { type Chaos, pauseWhileRunning } from '../chaos.ts';
import { errorCode } from '../drivers/sql.ts';
import { dice, pause, type Random } from '../random.ts';
import { nextSegment } from '../segments.ts';
import type { CauseFault, Fault, FaultName } from './plan.ts';
import { enqueueOwn, holdOpen, holdSnapshot, prepare, workIn } from './sessions.ts';

/** Opens idle transactions until the pooler's pool is full. The next calls wait, including one of this fault. */
async function fillPool({ stack }: Chaos, wait: (fault: Fault) => Promise<void>, fault: Fault) {
  // As many as default_pool_size in scripts/stack/pooler.ts.
  const sessions = await Promise.allSettled(
    Array.from({ length: 20 }, () => stack.connect(stack.pooledUrl)),
  );
  const clients = sessions.flatMap((session) =>
    session.status === 'fulfilled' ? [session.value] : [],
  );
  try {
    await Promise.all(clients.map((client) => client.query('begin; select 1').catch(() => null)));
    const next = await stack.connect(stack.pooledUrl, 5);
    clients.push(next);
    const full = await Promise.race([
      next.query('select 1').then(() => 0),
      pause(100).then(() => 1),
    ]);
    await wait(fault);
    return full;
  } finally {
    for (const client of clients) void client.end().catch(() => {});
  }
}

/**
 * Two sessions run their statements in opposite orders, so that the server detects a deadlock and refuses one of them.
 * Each session ends its transaction when it is done or refused, or the other would wait forever. Returns the number of
 * refusals.
 */
async function crosswise(chaos: Chaos, first: string[], second: string[]): Promise<number> {
  const { stack, ledger } = chaos;
  const sessions = await Promise.all([stack.connect(), stack.connect()]);
  let refused = 0;
  const doing = (client: pg.Client, texts: string[]) =>
    (async () => {
      for (const text of texts) await client.query(text);
    })().catch((error) => {
      const code = errorCode(error);
      if (code === '40P01') refused++;
      ledger.count(`crosswise: ${code}`);
    });
  const runBoth = (cut: (texts: string[]) => string[]) =>
    Promise.all(sessions.map((client, index) => doing(client, cut(index === 0 ? first : second))));
  try {
    await runBoth((texts) => ['begin', ...texts.slice(0, -1)]);
    await runBoth((texts) => [...texts.slice(-1), 'rollback']);
    return refused;
  } finally {
    for (const client of sessions) void client.end().catch(() => {});
  }
}

/** Causes a deadlock over two waiting tasks of this fault, which no client changes. */
async function deadlock(chaos: Chaos): Promise<number> {
  const ids = await withClient(chaos.stack.ownerUrl, (client) => enqueueOwn(chaos, client, 2, 5));
  const [session = '', second = ''] = ids.map(
    (id) => `select tock.change(array[${id}]::bigint[], '{"priority": 4}')`,
  );
  return crosswise(chaos, [session, second], [second, session]);
}

const tables = [
  'streams',
  'waiting',
  'leases',
  'concurrency_admissions',
  'unique_keys',
  'maintenance_jobs',
];

/**
 * Locks rows of two random tables in opposite orders for a while, as an owner might do in psql.
 */
async function lockRows(chaos: Chaos, random: Random, { holds }: Fault): Promise<number> {
  const [a, b] = tables.toSorted(() => random(3) - 1);
  const rowsQuery = (table: string | undefined) =>
    `select from tock.${table} t where t.ctid = any (array(select ctid from tock.${table} order by 1 desc limit 50)) for update`;
  const wait = `select pg_sleep(${Math.min(holds, 3000) / 1000})`;
  let blocked = 0;
  const observation = pause(Math.min(holds, 3000) * 0.9).then(async () => {
    blocked = await withClient(chaos.stack.superUrl, (client) => client.query(waiting)).then(
      ({ rows }) => rows[0].many,
      () => 0,
    );
  });
  const refused = await crosswise(
    chaos,
    [rowsQuery(a), wait, rowsQuery(b)],
    [rowsQuery(b), wait, rowsQuery(a)],
  );
  await observation;
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
  let succeeded = 0;
  for (const session of both) {
    if (session.status === 'rejected') {
      ledger.count(`migrator: ${errorCode(session.reason)}`);
    } else {
      succeeded++;
      ledger.count('migrator: nothing to do');
      if (session.value.applied.length > 0)
        ledger.differ('a migration was applied twice', 0, session.value.applied.join());
    }
  }
  return succeeded;
}

/** Moves positions to the end of the segment, and waits until tasks have entered the next one. */
async function endSegment(chaos: Chaos): Promise<number> {
  const { stack } = chaos;
  const current = () =>
    withClient(stack.ownerUrl, (client) =>
      client.query('select tock.newest_segment() as number'),
    ).then(
      ({ rows }) => Number(rows[0].number),
      () => null,
    );
  const previous = await current();
  if (previous === null) return 0;
  await withClient(stack.ownerUrl, (client) => nextSegment(chaos, client, 50));
  for (
    const deadline = performance.now() + 15_000;
    chaos.running && performance.now() < deadline;
  ) {
    await pause(250);
    if (((await current()) ?? previous) > previous) return 1;
  }
  return 0;
}

/** The faults that last for a while, or that SQL causes. */
export function holding(chaos: Chaos): Partial<Record<FaultName, CauseFault>> {
  const { stack } = chaos;
  const wait = ({ holds }: Fault) => pauseWhileRunning(chaos, holds);
  const rows = dice(7);
  const asSuper = (text: string) => withClient(stack.superUrl, (client) => client.query(text));
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
      await enableCron(chaos);
      return rowCount ?? 0;
    },
    // The launcher starts again with the next start of the server.
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

/** Activates pg_cron's jobs; retries until that succeeds. */
export async function enableCron({ stack }: Chaos): Promise<void> {
  if (!stack.host.cron) return;
  for (let attempt = 0; attempt < 100; attempt++) {
    const done = await withClient(stack.superUrl, (client) =>
      client.query('update cron.job set active = true'),
    ).catch(() => null);
    if (done) return;
    await pause(100);
  }
}
