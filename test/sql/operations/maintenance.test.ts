import { expect, test } from 'vitest';
import { client, databasePerTest, db } from '../test_database.ts';
import {
  claim,
  enqueue,
  expire,
  leaseOf,
  makeDue,
  numberedTasks,
  pidOf,
  refusal,
  rows,
  task,
  value,
  waitUntilBlocked,
} from '../verbs.ts';

databasePerTest();

type MaintenanceJob = {
  name: string;
  last_started_at: Date | null;
  last_ok_at: Date | null;
  last_seconds: number | null;
  last_amount: number | null;
  last_error: string | null;
  failures: number;
};

const maintenance_jobs = async () => {
  const all = await rows<MaintenanceJob>(client, 'select * from tock.maintenance_jobs order by 1');
  return new Map(all.map((job) => [job.name, job]));
};
const jobNamed = async (name: string) => (await maintenance_jobs()).get(name);
const run = (name: string, on = client) =>
  value<number | null>(on, 'select tock.run_maintenance($1)', [name]);
/** Replaces reap() by a function that fails or waits. */
const replaceReap = (rest: string) =>
  client.query(`create or replace function tock.reap(p_limit integer default 10000, p_sweep boolean default null)
    returns integer ${rest}`);
const tick = () => value<Date | null>(client, 'select tock.tick()');
const wake = () => value<Date | null>(client, 'select tock.next_wake_at()');

test('a tick promotes due tasks, reaps lost runs, and records each maintenance job', async () => {
  const [late] = await enqueue(client, 'q', [{ delay_seconds: 100 }]);
  await enqueue(client, 'q', numberedTasks(2));
  const lease = leaseOf(await claim(client, 'q', { limit: 2 }));
  await expire(client, lease);
  await makeDue(client, 'q');
  await tick();
  expect((await task(client, late as string))?.state).toBe('ready');
  expect(await claim(client, 'q', { limit: 9 })).toHaveLength(3);
  const done = await maintenance_jobs();
  for (const name of ['promote', 'reap', 'deactivate_streams', 'create_segments', 'prune']) {
    expect(done.get(name)).toMatchObject({ last_error: null, failures: 0 });
    expect(done.get(name)?.last_ok_at).not.toBeNull();
    expect(done.get(name)?.last_seconds).toBeGreaterThanOrEqual(0);
  }
  expect([done.get('promote')?.last_amount, done.get('reap')?.last_amount]).toEqual([1, 2]);
});

test('a maintenance job that is not due is skipped', async () => {
  await tick();
  // Every tick runs fire_schedules, because next_wake_at() may have named a fire.
  const others = async () =>
    [...(await maintenance_jobs()).values()].filter(({ name }) => name !== 'fire_schedules');
  const before = await others();
  await tick();
  expect(await others()).toEqual(before);
  await client.query(
    "update tock.maintenance_jobs set last_started_at = now() - interval '1 day' where name = 'reap'",
  );
  await tick();
  const [reap, prune] = ['reap', 'prune'].map((name) => before.find((job) => job.name === name));
  expect((await jobNamed('reap'))?.last_ok_at).not.toEqual(reap?.last_ok_at);
  expect(await jobNamed('prune')).toEqual(prune);
});

test('a maintenance job that reads for long and finds nothing pauses for at most a minute', async () => {
  const looked = (ago: string) =>
    client.query(
      `update tock.maintenance_jobs set last_started_at = now() - $1::interval, last_ok_at = now() - $1::interval,
         last_amount = 0, last_seconds = 36`,
      [ago],
    );
  await enqueue(client, 'q', []);
  const rested = async () =>
    ((await jobNamed('promote'))?.last_ok_at as Date) < new Date(Date.now() - 20_000);
  await looked('40 s');
  await tick();
  expect(await rested()).toBe(true);
  await looked('61 s');
  await tick();
  expect(await rested()).toBe(false);
  await looked('61 s');
  await client.query("select tock.claim('q', p_own_transaction => true)");
  expect(await rested()).toBe(false);
});

test.each(['P0001', 'TK422'])(
  'a job that fails with %s is recorded with its error and rolled back, and the others run',
  async (code) => {
    await run('reap');
    const good = await jobNamed('reap');
    await replaceReap(`language plpgsql as $$ begin
      perform tock.enqueue('undone', '[{}]');
      raise exception using errcode = '${code}', message = 'no leases today';
    end $$`);
    await client.query('update tock.maintenance_jobs set last_started_at = null');
    await tick();
    const after = await maintenance_jobs();
    expect(after.get('reap')).toMatchObject({ last_error: `${code} no leases today`, failures: 1 });
    expect(after.get('reap')?.last_ok_at).toEqual(good?.last_ok_at);
    expect(after.get('reap')?.last_started_at).not.toEqual(good?.last_started_at);
    expect(after.get('promote')).toMatchObject({ last_error: null });
    expect(after.get('create_segments')?.last_ok_at).not.toBeNull();
    expect(await claim(client, 'undone')).toEqual([]);
    expect(await run('reap')).toBeNull();
    expect((await jobNamed('reap'))?.failures).toBe(2);
  },
);

test('a maintenance job that takes too long is stopped, and that is recorded', async () => {
  await replaceReap(
    "language sql set lock_timeout = 0 as 'select 1 from (select pg_advisory_xact_lock(4711)) s'",
  );
  await client.query('select pg_advisory_lock(4711)');
  const other = await db.connect();
  const pid = await pidOf(other);
  const running = run('reap', other);
  await waitUntilBlocked(client, pid);
  await client.query('select pg_cancel_backend($1)', [pid]);
  await running;
  expect(await jobNamed('reap')).toMatchObject({
    failures: 1,
    last_error: expect.stringContaining('57014'),
  });
});

test('a maintenance job that runs elsewhere does not run twice', async () => {
  const other = await db.connect();
  await other.query('begin');
  expect(await run('promote', other)).toBe(0);
  expect(await run('promote')).toBeNull();
  expect(await run('reap')).toBe(0);
  await tick();
  expect((await jobNamed('promote'))?.last_ok_at).toBeNull();
  await other.query('commit');
  expect(await run('promote')).toBe(0);
  expect(await refusal(run('sleep'))).toMatchObject({ code: 'TK422', detail: 'maintenance_job' });
});

test('the next wake is when the next task is due or the next lease ends', async () => {
  expect(await wake()).toBeNull();
  const [id] = await enqueue(client, 'q', [{ delay_seconds: 5000 }]);
  const due = (await task(client, id as string))?.run_at;
  expect(await wake()).toEqual(due);
  await enqueue(client, 'q', [{}]);
  const [run] = await claim(client, 'q', { lease_seconds: 50 });
  expect(await wake()).toEqual(run?.leased_until);
  await client.query('select tock.complete($1)', [run?.lease]);
  expect(await wake()).toEqual(due);
  expect(await tick()).toEqual(due);
});

test('request ids are kept for a day, and then deleted in bounded steps', async () => {
  for (let n = 0; n < 5; n++) await enqueue(client, 'q', [{}], `old-${n}`);
  const [first] = await enqueue(client, 'q', [{}], 'young');
  await client.query(
    "update tock.requests set created_at = now() - case request_id when 'young' then 23 else 25 end * interval '1 hour'",
  );
  for (const pruned of [3, 2, 0])
    expect(await value(client, 'select tock.prune(p_limit => 3)')).toBe(pruned);
  expect(await enqueue(client, 'q', [{}], 'young')).toEqual([first]);
});

test('a prune that has not deleted everything is due again at the next tick', async () => {
  await enqueue(client, 'q', [{}], 'old');
  await client.query("update tock.requests set created_at = now() - interval '25 hours'");
  expect(await value(client, "select tock.run_maintenance('prune', 0)")).toBe(1);
  await tick();
  const pruned = await jobNamed('prune');
  expect(pruned).toMatchObject({ last_amount: 0 });
  await tick();
  expect(await jobNamed('prune')).toEqual(pruned);
});

test('a maintenance job that hangs is cancelled by the next one, and other statements are not', async () => {
  const hung = await db.connect();
  const busy = await db.connect();
  const pid = await pidOf(busy);
  await hung.query('begin');
  await hung.query(
    "select pg_advisory_xact_lock(tock.lock_space(), tock.named_key('maintenance_job', 'create_segments'))",
  );
  await client.query('select pg_advisory_lock(4711)');
  const wait = 'select pg_advisory_lock(4711)';
  const canceled = hung.query(`${wait} /* tock.tick() */`).catch((error) => error.code);
  const working = busy.query(wait).catch((error) => error.code);
  await waitUntilBlocked(client, pid);
  const cancel = () => value<number>(client, 'select tock.cancel_overdue(0)');
  await expect.poll(cancel).toBe(1);
  expect(await canceled).toBe('57014');
  await hung.query('rollback');
  expect(await cancel()).toBe(0);
  expect(await value(client, 'select cardinality(pg_blocking_pids($1))', [pid])).toBe(1);
  await client.query('select pg_terminate_backend($1)', [pid]);
  expect(await working).toBe('57P01');
});
