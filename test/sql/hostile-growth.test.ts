import { expect, test } from 'vitest';
import { ownCluster } from '../database.ts';
import { client, db, oneDatabase } from './own.ts';
import { assignAll, offer } from './pools.ts';
import { rows } from './support.ts';

oneDatabase();

const names = (prefix: string, count: number) =>
  Array.from({ length: count }, (_, n) => `${prefix}${n + 1}`);

/** Pages that a statement touches. */
async function pages(sql: string): Promise<number> {
  const plan = await rows<{ 'QUERY PLAN': { Plan: Record<string, number> }[] }>(
    client,
    `explain (analyze, buffers, timing off, format json) ${sql}`,
  );
  const root = plan[0]?.['QUERY PLAN'][0]?.Plan as Record<string, number>;
  return (root['Shared Hit Blocks'] ?? 0) + (root['Shared Read Blocks'] ?? 0);
}

test('beside an open snapshot no verb grows with pairs that are over', async () => {
  const open = await db.connect();
  await open.query('begin isolation level repeatable read');
  await open.query('select count(*) from tock.places');
  const round = () =>
    client.query(`do $$ declare k text := (select coalesce(max(last_value), 0)::text from tock.place_numbers); begin
      for n in 1 .. 4000 loop
        perform tock.join_pool('grow', 'w' || k || '-' || n, 600);
        perform tock.assign('grow', 'a' || k || '-' || n), tock.unassign('grow', 'a' || k || '-' || n);
        perform tock.leave_pool('grow', 'w' || k || '-' || n);
        perform tock.offer('grow', array['o' || k || '-' || n]), tock.take('grow', 'x' || k || '-' || n);
        perform tock.unassign('grow', 'o' || k || '-' || n);
      end loop; end $$`);
  const verbs = {
    empty: "select * from tock.take('grow', 'nobody')",
    none: "select * from tock.assign('grow', 'nothing')",
    all: "select * from tock.assign_all('grow', array['nothing'])",
    duty: 'select tock.reap_pools(p_sweep => false)',
    pools: 'select * from tock.pools()',
    pool: "select * from tock.pool('grow')",
  };
  const seen: Record<string, number[]> = {};
  for (let n = 0; n < 3; n++) {
    await round();
    await client.query("select tock.run_duty('pools', 0)");
    for (const [verb, sql] of Object.entries(verbs)) {
      await new Promise((done) => setTimeout(done, 1500));
      seen[verb] = [...(seen[verb] ?? []), await pages(sql)];
    }
  }
  await open.query('rollback');
  console.log('pages', JSON.stringify(seen));
  for (const [verb, [first = 0, , last = 0]] of Object.entries(seen)) {
    expect.soft(last, `${verb}: ${seen[verb]}`).toBeLessThan(first * 1.5 + 20);
  }
}, 100_000);

test('10,000 waiting tasks at once on a server of PostgreSQL’s own settings, and another beside', async () => {
  const cluster = await ownCluster();
  try {
    const boss = await cluster.connect(cluster.superUrl);
    await boss.query('alter system set max_connections = 100');
    await boss.query('alter system set max_prepared_transactions = 0');
    await cluster.kill9();
    await cluster.start();
    const a = await cluster.connect();
    const [set] = await rows(
      a,
      "select current_setting('max_connections') c, current_setting('max_locks_per_transaction') l, current_setting('max_prepared_transactions') p",
    );
    console.log(set);
    await offer(a, 'p', names('t', 10000));
    await offer(a, 'q', names('t', 10000));
    const said: string[] = [];
    const list = (on: typeof a, pool: string) =>
      assignAll(on, pool, names('t', 10000)).then(
        () => said.push(`${pool} ok`),
        ({ code, message }) => said.push(`${pool} ${code} ${message}`),
      );
    await list(a, 'p');
    const b = await cluster.connect();
    await a.query('begin');
    await list(a, 'p');
    await list(b, 'q');
    await a.query('rollback');
    console.log(said);
    expect(said).toEqual(['p ok', 'p ok', 'q ok']);
  } finally {
    await cluster.drop();
  }
}, 100_000);
