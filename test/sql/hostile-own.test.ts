import type pg from 'pg';
import { expect, test } from 'vitest';
import { client, db, oneDatabase } from './own.ts';
import { offer, take, unassign } from './pools.ts';
import { blocked, complete, enqueue, numbered, pidOf, type Run, rows } from './support.ts';

oneDatabase();

const names = (prefix: string, count: number) =>
  Array.from({ length: count }, (_, n) => `${prefix}${n + 1}`);

const own = (on: Pick<pg.Client, 'query'>, queue: string, worker: string) =>
  rows<Run>(on, 'select * from tock.claim_own($1, $2)', [queue, worker]);

test('an open claim_own of a worker that was away for days does not stop the duty tidy', async () => {
  await enqueue(client, 'away', numbered(3));
  const [first] = await own(client, 'away', 'a');
  await complete(client, first?.lease as string);
  await client.query("update tock.own_leases set claimed_at = now() - interval '3 days'");
  const open = await db.connect();
  await open.query('begin');
  await own(open, 'away', 'a');
  await client.query("select tock.run_duty('tidy', 0)");
  const [duty] = await rows(client, "select last_error from tock.duties where name = 'tidy'");
  await open.query('rollback');
  expect(duty).toEqual({ last_error: null });
});

test('what is claimed while tidy waits for it is not forgotten', async () => {
  await enqueue(client, 'epq', numbered(3));
  const [first] = await own(client, 'epq', 'a');
  await complete(client, first?.lease as string);
  await client.query("update tock.own_leases set claimed_at = now() - interval '3 days'");
  const [open, duty] = await Promise.all([db.connect(), db.connect()]);
  const pid = await pidOf(duty);
  await open.query('begin');
  const [second] = await own(open, 'epq', 'a');
  const tidied = duty.query("select tock.run_duty('tidy', 0)");
  await blocked(client, pid);
  await open.query('commit');
  await tidied;
  const [third] = await own(client, 'epq', 'a');
  expect(third?.id).toBe(second?.id);
});

test('tasks that have waited for long are served though new ones come and go', async () => {
  await offer(client, 'stream', names('t', 1000));
  // from the middle, by name
  await client.query(
    "select tock.assign('stream', 't' || n, 'v' || n) from generate_series(500, 1000) n",
  );
  await client.query("select tock.unassign('stream', 't' || n) from generate_series(500, 1000) n");
  let old = 0;
  for (let n = 0; n < 1500; n++) {
    await offer(client, 'stream', [`new${n}`]);
    const { task } = await take(client, 'stream', 'me');
    if (task?.startsWith('t')) old++;
    await unassign(client, 'stream', task as string);
  }
  expect(old).toBe(499);
}, 40_000);

async function pages(sql: string): Promise<number> {
  const plan = await rows<{ 'QUERY PLAN': { Plan: Record<string, number> }[] }>(
    client,
    `explain (analyze, buffers, timing off, format json) ${sql}`,
  );
  const root = plan[0]?.['QUERY PLAN'][0]?.Plan as Record<string, number>;
  return (root['Shared Hit Blocks'] ?? 0) + (root['Shared Read Blocks'] ?? 0);
}

test('claim_own beside an open snapshot takes no longer for each task that is over', async () => {
  const open = await db.connect();
  await enqueue(client, 'snap', numbered(9000));
  await own(client, 'snap', 'a');
  await open.query('begin isolation level repeatable read');
  await open.query('select count(*) from tock.own_leases');
  const seen: number[] = [];
  for (let n = 0; n < 4; n++) {
    await client.query(`do $$ declare l uuid; begin
      for n in 1 .. 2000 loop
        select c.lease into l from tock.claim_own('snap', 'a') c;
        perform tock.complete(l);
        commit;
      end loop; end $$`);
    await own(client, 'snap', 'a');
    seen.push(await pages("select * from tock.claim_own('snap', 'a')"));
  }
  await open.query('rollback');
  console.log('claim_own, pages', seen);
  expect(seen[3]).toBeLessThan((seen[0] as number) * 1.5 + 20);
}, 90_000);
