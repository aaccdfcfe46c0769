import type pg from 'pg';
import { clockFindings, type Finding } from '../functions/http/clock_skew.ts';
import { clientOf } from '../migrate/connect.ts';
import { readSql } from '../migrate/files.ts';
import { isBeforeBaseline } from '../migrate/history.ts';

/** The clock of this machine against the database's; `now` gives milliseconds. */
export async function clocks(client: pg.Client, now = Date.now): Promise<Finding[]> {
  const before = now();
  const { rows } = await client.query(
    'select (extract(epoch from pg_catalog.clock_timestamp()) * 1000)::float8 as there',
  );
  return clockFindings('this machine', { before, there: rows[0].there, after: now() });
}

/** What a look found; where it fails, that is a finding, and the other looks go on. */
export async function looked(at: string, look: () => Promise<Finding[]>): Promise<Finding[]> {
  try {
    return await look();
  } catch (error) {
    const finding = 'a check of the doctor failed';
    const detail = `${at}: ${(error as Error).message.split('\n')[0]}`;
    const hint = 'see that its URL is right and that it answers from here';
    return [{ finding, severity: 'warning', detail, hint }];
  }
}

/** Whether the database has the migrations that this Tock brings; nothing for a role that may not look. */
export async function versions(client: pg.Client): Promise<Finding[]> {
  const brought = readSql(process.env.TOCK_SQL_DIRECTORY).migrations;
  const applied = await client
    .query<{ number: number; name: string }>('select number, name from tock.migrations')
    .catch((error) => {
      if (error.code === '42501') return null;
      throw error;
    });
  if (!applied) return [];
  if (isBeforeBaseline(applied.rows, brought)) {
    return [
      {
        finding: 'the database is older than the baseline',
        severity: 'critical',
        detail: `its migrations do not begin with ${brought[0]?.name}`,
        hint: 'stay on the old version, or run tock uninstall and then tock migrate, which gives up its queues and tasks',
      },
    ];
  }
  const numbers = new Set(applied.rows.map(({ number }) => number));
  const missing = brought.filter(({ number }) => !numbers.has(number));
  const newest = brought.at(-1)?.number ?? 0;
  if (missing.length > 0) {
    return [
      {
        finding: 'migrations are not applied',
        severity: 'critical',
        detail: `${missing.length}, the first of them ${missing[0]?.name}`,
        hint: 'tock migrate, before this version is used',
      },
    ];
  }
  if (Math.max(...numbers) <= newest) return [];
  return [
    {
      finding: 'the database is of a newer Tock',
      severity: 'warning',
      detail: `migration ${Math.max(...numbers)} is applied, and this Tock knows ${newest}`,
      hint: 'install that version here, and see that the Worker has it too',
    },
  ];
}

async function backend(client: pg.Client): Promise<number> {
  return (await client.query('select pg_catalog.pg_backend_pid() as pid')).rows[0].pid;
}

const pooler = (mode: string, severity: string, detail: string): Finding => ({
  finding: `the pooler is in ${mode} mode`,
  severity,
  detail,
  hint: "set pool_mode = transaction, or use the provider's URL for that (Neon: the host with -pooler; Supabase: port 6543)",
});

/**
 * A pooler in session mode gives two clients two backends, and each keeps its own. Each asks twice running, as
 * one that deals out two backends in turn would give both always the same.
 */
async function kept(one: pg.Client, other: pg.Client): Promise<boolean> {
  const seen = [new Set<number>(), new Set<number>()] as const;
  for (let look = 0; look < 5; look++) {
    for (let twice = 0; twice < 2; twice++) seen[0].add(await backend(one));
    for (let twice = 0; twice < 2; twice++) seen[1].add(await backend(other));
  }
  return new Set([...seen[0], ...seen[1]]).size === 2 && seen.every((pids) => pids.size === 1);
}

/**
 * How a pooler in front of the database works. There is one where the process that the connection was
 * told of at its start is not the one that answers. In session mode it wastes connections, which is worth a
 * warning only where the Worker's calls are known to go through it.
 */
export async function pooling(url: string, ofWorker = true): Promise<Finding[]> {
  const options = { connectionTimeoutMillis: 15_000, query_timeout: 15_000 };
  const clients = [clientOf(url, options), clientOf(url, options)] as const;
  const [one, other] = clients;
  for (const client of clients) client.on('error', () => {});
  try {
    await one.connect();
    const { processID } = one as unknown as { processID: number };
    if ((await backend(one)) === processID) return [];
    try {
      await one.query('begin');
      await one.query('commit');
    } catch {
      const detail =
        'it refuses a transaction of several statements, as of an application that enqueues in its own';
      return [pooler('statement', 'critical', detail)];
    }
    await other.connect();
    if (!(await kept(one, other))) return [];
    const detail =
      'each client keeps a connection of the database until it leaves: many of them use all up';
    return [pooler('session', ofWorker ? 'warning' : 'note', detail)];
  } finally {
    await Promise.all(clients.map((client) => client.end().catch(() => {})));
  }
}
