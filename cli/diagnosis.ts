import type pg from 'pg';
import { clockFindings } from '../functions/http/clock_skew.ts';
import type { Finding } from '../functions/http/findings.ts';
import { createClient } from '../migrate/connect.ts';
import { readSql } from '../migrate/files.ts';
import { isBeforeBaseline } from '../migrate/history.ts';

/** Compares the clock of this machine with the database's; `now` returns milliseconds. */
export async function clocks(client: pg.Client, now = Date.now): Promise<Finding[]> {
  const before = now();
  const { rows } = await client.query(
    'select (extract(epoch from pg_catalog.clock_timestamp()) * 1000)::float8 as there',
  );
  return clockFindings('this machine', { before, there: rows[0].there, after: now() });
}

/** Runs a check; a failed check is a finding, and the others still run. */
export async function runCheck(place: string, check: () => Promise<Finding[]>): Promise<Finding[]> {
  try {
    return await check();
  } catch (error) {
    const finding = 'a check of the doctor failed';
    const detail = `${place}: ${(error as Error).message.split('\n')[0]}`;
    const hint = 'check that its URL is right and that it answers from here';
    return [{ finding, severity: 'warning', detail, hint }];
  }
}

/** Finds migrations that differ between the database and this Tock. Finds nothing if the role may not read them. */
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
        hint: 'stay on the old version, or run tock uninstall and then tock migrate, which deletes all queues and tasks',
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
        hint: 'run tock migrate before this version is used',
      },
    ];
  }
  if (Math.max(...numbers) <= newest) return [];
  return [
    {
      finding: 'the database is of a newer Tock',
      severity: 'warning',
      detail: `migration ${Math.max(...numbers)} is applied, and this version's newest is ${newest}`,
      hint: 'install that version here, and check that the Worker has it too',
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
 * True if each of two clients keeps its own backend, as in session mode. Each client asks twice in a row: a pooler that
 * alternates between two backends would otherwise always give each client the same one.
 */
async function keepsBackend(first: pg.Client, second: pg.Client): Promise<boolean> {
  const backends = [new Set<number>(), new Set<number>()] as const;
  for (let round = 0; round < 5; round++) {
    for (let attempt = 0; attempt < 2; attempt++) backends[0].add(await backend(first));
    for (let attempt = 0; attempt < 2; attempt++) backends[1].add(await backend(second));
  }
  return (
    new Set([...backends[0], ...backends[1]]).size === 2 &&
    backends.every((pids) => pids.size === 1)
  );
}

/**
 * Detects a pooler in front of the database, and its mode. A pooler is there if the process id that the connection
 * got at its start differs from the one that answers. Session mode wastes connections; that is a warning only if the
 * Worker's calls use the pooler.
 */
export async function pooling(url: string, ofWorker = true): Promise<Finding[]> {
  const options = { connectionTimeoutMillis: 15_000, query_timeout: 15_000 };
  const clients = [createClient(url, options), createClient(url, options)] as const;
  const [first, second] = clients;
  for (const client of clients) client.on('error', () => {});
  try {
    await first.connect();
    const { processID } = first as unknown as { processID: number };
    if ((await backend(first)) === processID) return [];
    try {
      await first.query('begin');
      await first.query('commit');
    } catch {
      const detail =
        'it refuses transactions of several statements, which applications need to enqueue in their own transactions';
      return [pooler('statement', 'critical', detail)];
    }
    await second.connect();
    if (!(await keepsBackend(first, second))) return [];
    const detail =
      'each client keeps a database connection until it disconnects: many clients use up all connections';
    return [pooler('session', ofWorker ? 'warning' : 'note', detail)];
  } finally {
    await Promise.all(clients.map((client) => client.end().catch(() => {})));
  }
}
