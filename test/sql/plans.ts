import type pg from 'pg';
import { expect } from 'vitest';
import type { Database } from '../database.ts';
import { rows, value } from './verbs.ts';

type Scan = {
  node: string;
  table: string;
  /** Rows that the scan read over all loops, with those that its filter removed. */
  rows: number;
  /** Pages that it read; entries that an index condition rejects show only here. */
  pages: number;
  query: string;
};

type Node = {
  'Node Type': string;
  'Relation Name'?: string;
  'Actual Rows'?: number;
  'Actual Loops'?: number;
  'Rows Removed by Filter'?: number;
  'Rows Removed by Index Recheck'?: number;
  'Shared Hit Blocks'?: number;
  'Shared Read Blocks'?: number;
  Plans?: Node[];
};

const pagesOf = (node: Node) =>
  (node['Shared Hit Blocks'] ?? 0) + (node['Shared Read Blocks'] ?? 0);

function scansOf(node: Node, query: string): Scan[] {
  const own: Scan[] = [];
  const table = node['Relation Name'];
  if (table && node['Node Type'] !== 'ModifyTable') {
    const perLoop =
      (node['Actual Rows'] ?? 0) +
      (node['Rows Removed by Filter'] ?? 0) +
      (node['Rows Removed by Index Recheck'] ?? 0);
    own.push({
      node: node['Node Type'],
      table,
      rows: perLoop * (node['Actual Loops'] ?? 1),
      pages: (node.Plans ?? []).reduce((own, child) => own - pagesOf(child), pagesOf(node)),
      query,
    });
  }
  return [...own, ...(node.Plans ?? []).flatMap((child) => scansOf(child, query))];
}

/** Makes a superuser's session report the plan of every statement, also inside functions. */
export async function watchPlans(client: pg.Client) {
  const seen: Scan[] = [];
  const listen = (notice: { message?: string }) => {
    const text = notice.message?.match(/plan:\n(\{[\s\S]*\})$/)?.[1];
    if (!text) return;
    const plan = JSON.parse(text) as { 'Query Text': string; Plan: Node };
    const query = plan['Query Text'].replace(/\s+/g, ' ').trim().slice(0, 160);
    seen.push(...scansOf(plan.Plan, query));
  };
  client.on('notice', listen as never);
  await client.query(`load 'auto_explain'; set client_min_messages = notice;
    set auto_explain.log_level = notice; set auto_explain.log_min_duration = 0;
    set auto_explain.log_nested_statements = on; set auto_explain.log_analyze = on;
    set auto_explain.log_timing = off; set auto_explain.log_buffers = on; set auto_explain.log_format = json`);
  return {
    scans: () => seen,
    async stop() {
      await client.query('set auto_explain.log_min_duration = -1');
      client.off('notice', listen as never);
    },
  };
}

/** What the planner knows of the tables' sizes, with the statements that bring it about. */
export const plannerStatistics: [string, string[]][] = [
  ['no', []],
  [
    'stale',
    [
      `update pg_class set reltuples = 0, relpages = 0
       where relnamespace = 'tock'::regnamespace and relkind in ('r', 'p', 'i', 'I')`,
    ],
  ],
  [
    // What analyze leaves of tables that grew and were then emptied. Segments only grow.
    'emptied',
    [
      `update pg_class set reltuples = 0, relpages = 10
       where relnamespace = 'tock'::regnamespace and relkind in ('r', 'p', 'i', 'I')
         and relname !~ '_[0-9]+(_.*)?$'`,
    ],
  ],
  ['fresh', ['analyze']],
];

/** Keeps autovacuum from changing the statistics that a test has set. */
export async function stopAutovacuum(owner: pg.Client): Promise<void> {
  for (const { name } of await rows<{ name: string }>(
    owner,
    "select oid::regclass::text as name from pg_class where relnamespace = 'tock'::regnamespace and relkind = 'r'",
  )) {
    await owner.query(`alter table ${name} set (autovacuum_enabled = off)`);
  }
}

/** A superuser's session that has run the statements and uses one plan_cache_mode. */
export async function sessionWithPlans(db: Database, statements: string[], mode: string) {
  const on = await db.connect(db.superUrl);
  for (const statement of statements) await on.query(statement);
  await on.query(`set plan_cache_mode = ${mode}`);
  return on;
}

type Bounds = {
  tables: RegExp;
  /** The most rows that one scan may read. */
  most: number;
  /** The least number of scans to expect; with fewer, the plans were not seen. */
  least: number;
  /** Statements of the test itself, which are left out. */
  own?: RegExp;
};

/** The sequential scans of some work, and the scans that read more rows than `most`, or ten times as many pages. */
export async function badScans(
  on: pg.Client,
  work: () => Promise<unknown>,
  { tables, most, least, own }: Bounds,
): Promise<string[]> {
  const plans = await watchPlans(on);
  await work();
  const scans = plans.scans().filter((scan) => !own?.test(scan.query));
  await plans.stop();
  expect(scans.length).toBeGreaterThan(least);
  const described = scans
    .filter(
      ({ table, node, rows, pages }) =>
        tables.test(table) && (node === 'Seq Scan' || rows > most || pages > 10 * most),
    )
    .map(({ node, table, rows, pages, query }) => `${node} ${table} ${rows} ${pages}: ${query}`);
  return [...new Set(described)];
}

/** Calls an inner function with the planner settings of the verbs that call it. */
export async function asVerb(on: pg.Client, sql: string, values: unknown[] = []): Promise<void> {
  await on.query('begin; set local enable_seqscan = off; set local enable_bitmapscan = off');
  await on.query(sql, values);
  await on.query('commit');
}

type Pages = { 'Shared Hit Blocks': number; 'Shared Read Blocks': number };

/** The number of pages that a call and all functions in it read. */
export async function pages(client: pg.Client, call: string): Promise<number> {
  const [{ Plan: plan }] = await value<[{ Plan: Pages }]>(
    client,
    `explain (analyze, buffers, timing off, format json) select ${call}`,
  );
  return plan['Shared Hit Blocks'] + plan['Shared Read Blocks'];
}

/** The least of three calls: a session reads the catalog again after changes in any database. */
export async function fewestPages(client: pg.Client, call: string): Promise<number> {
  return Math.min(await pages(client, call), await pages(client, call), await pages(client, call));
}
