import { beforeEach, expect, test } from 'vitest';
import { client, databasePerTest, db } from '../../test_database.ts';
import {
  claim,
  complete,
  enqueue,
  expire,
  fail,
  leaseOf,
  makeDue,
  numberedTasks,
  promote,
  reap,
  rows,
  value,
} from '../../verbs.ts';

databasePerTest();
beforeEach(async () => {
  for (const queue of ['q', 'other'])
    await client.query("select tock.put_queue($1, '{}')", [queue]);
});

type Reason = { finding: string; severity: string; detail: string; hint: string };

/** The reasons why a queue is late, by default after a tick. */
async function why(queue = 'q', tick = true): Promise<Reason[]> {
  if (tick) await client.query('select tock.tick()');
  return rows(client, 'select * from tock.why($1)', [queue]);
}
const says = (finding: string, severity: string, detail: RegExp, hint: RegExp) => ({
  finding,
  severity,
  detail: expect.stringMatching(detail),
  hint: expect.stringMatching(hint),
});
/** Moves the creation of all runs to this long ago. */
const old = (interval: string) =>
  client.query('update tock.runs set created_at = now() - $1::interval', [interval]);
/** Moves all claims to this long ago. */
const claimed = (interval: string) =>
  client.query('update tock.leases set claimed_at = now() - $1::interval', [interval]);
const put = (policy: object) => client.query("select tock.put_queue('q', $1)", [policy]);

test('a queue that is empty, being worked on or only has waiting tasks has no reason, and an unknown queue is named as such', async () => {
  expect(await why('unknown')).toEqual([
    says('there is no queue of this name', 'warning', /never made/, /tock queue list$/),
  ]);
  expect(await why()).toEqual([]);
  const ids = await enqueue(client, 'q', numberedTasks(20));
  expect(await why()).toEqual([]);
  const runs = await claim(client, 'q', { limit: 5 });
  expect(await why()).toEqual([]);
  await fail(client, leaseOf(runs), [{ id: ids[0], error: 'once', retry_in_seconds: 900 }]);
  await complete(client, leaseOf(runs));
  expect(await why()).toEqual([]);
  await complete(client, leaseOf(await claim(client, 'q', { limit: 100 })));
  await enqueue(client, 'q', numberedTasks(3, 0, { delay_seconds: 3600 }));
  await enqueue(client, 'q', numberedTasks(1, 0, { concurrency_key: 'g' }));
  await enqueue(client, 'q', numberedTasks(1, 0, { depends_on: [ids[0]] }));
  expect(await why()).toEqual([]);
  expect(await why('other')).toEqual([]);
});

test('a queue without claims is named until a worker claims from it', async () => {
  await enqueue(client, 'q', numberedTasks(3));
  await old('3 minutes');
  expect(await why()).toEqual([
    says(
      'no worker claims from this queue',
      'warning',
      /^3 tasks are ready, the oldest for 3 min, and none has been claimed yet$/,
      /^start a worker.*POST \/v1\/queues\/q\/claim.*Worker consumes it/,
    ),
  ]);
  expect(await why('other')).toEqual([]);
  await complete(client, leaseOf(await claim(client, 'q')));
  const slow = await why();
  expect(slow).toMatchObject([{ finding: 'workers do not keep up', severity: 'note' }]);
  await client.query(
    "update tock.leases set claimed_at = now() - interval '2 minutes', closed_at = now() - interval '2 minutes'",
  );
  expect(await why()).toMatchObject([
    {
      finding: 'no worker claims from this queue',
      detail: expect.stringMatching(/was claimed for (1\d\d s|\d min)$/),
    },
  ]);
  await complete(client, leaseOf(await claim(client, 'q', { limit: 9 })));
  expect(await why()).toEqual([]);
});

test('too few workers are another reason than no worker', async () => {
  await enqueue(client, 'q', numberedTasks(30));
  await claim(client, 'q', { limit: 2 });
  await old('10 minutes');
  expect(await why()).toEqual([
    says(
      'workers do not keep up',
      'note',
      /^28 tasks are ready, the oldest for 10 min; 2 run$/,
      /^start more workers/,
    ),
  ]);
});

test('a paused queue is named as soon as a task is ready, without other reasons', async () => {
  await put({ paused: true });
  expect(await why()).toEqual([]);
  await enqueue(client, 'q', numberedTasks(2));
  await old('3 minutes');
  expect(await why()).toEqual([
    says(
      'the queue is paused',
      'warning',
      /^2 tasks are ready.*claims return none$/,
      /tock queue resume q/,
    ),
  ]);
  await put({ paused: false });
  await claim(client, 'q', { limit: 2 });
  expect(await why()).toEqual([]);
});

test('reached limits are named: max_running and the rate', async () => {
  await put({ max_running: 2 });
  await enqueue(client, 'q', numberedTasks(9));
  const runs = await claim(client, 'q', { limit: 9 });
  expect(runs).toHaveLength(2);
  expect(await why()).toEqual([
    says(
      'max_running is reached',
      'note',
      /^2 tasks run, which is max_running; ready: 7$/,
      /raise max_running/,
    ),
  ]);
  await complete(client, leaseOf(runs));
  await put({ max_running: null, rate_limit: 3, rate_seconds: 3600, rate_burst: 3 });
  while ((await claim(client, 'q')).length > 0);
  await old('3 minutes');
  expect(await why()).toEqual([
    says(
      'the rate holds tasks back',
      'note',
      /^3 may start in 3600 s, the next in 1[12]\d\d s; ready: 4$/,
      /raise rate_limit/,
    ),
  ]);
  await put({ rate_limit: 2, rate_seconds: 60, rate_burst: 4 });
  await client.query("select tock.reset_limits('q')");
  await enqueue(client, 'q', numberedTasks(9));
  while ((await claim(client, 'q')).length > 0);
  await old('3 minutes');
  expect(await why()).toMatchObject([
    { detail: expect.stringMatching(/^2 may start in 60 s, and 4 at once, the next in \d+ s;/) },
  ]);
});

test('all concurrency keys that hold tasks back are one note, and the hint cancels no task that was claimed just now', async () => {
  const stuck = numberedTasks(10, 0).map((_, n) => ({ concurrency_key: `g${n}` }));
  const holders = await enqueue(client, 'q', stuck);
  await enqueue(client, 'q', [...stuck, ...stuck]);
  await promote(client);
  const runs = await claim(client, 'q', { limit: 10, worker: 'w' });
  expect(await why()).toEqual([]);
  await claimed('30 seconds');
  const note = (severity: string, detail: RegExp, hint: RegExp) =>
    says('concurrency keys hold tasks back', severity, detail, hint);
  const all =
    /^20 tasks wait at 10 concurrency keys \(10 full\); concurrency key g\d admits 1 at a time, and task \d+ holds it: running for 3\d s, attempt 1$/;
  const [young] = await why();
  expect(young).toEqual(note('note', all, /tock task \d+/));
  expect(young?.hint).not.toMatch(/cancel/);
  await claimed('4 minutes');
  expect(await why()).toEqual([
    note('note', /running for 4 min/, /over 60 s, cancel it to admit the next: tock cancel \d+$/),
  ]);
  await claimed('2 hours');
  expect(await why()).toMatchObject([{ severity: 'warning' }]);
  await complete(client, leaseOf(runs));
  expect(holders).toHaveLength(10);
  await complete(client, leaseOf(await claim(client, 'q', { limit: 10 })));
  await complete(client, leaseOf(await claim(client, 'q', { limit: 10 })));
  await client.query(`select tock.put_concurrency_key('q', 'shut', '{"paused": true}')`);
  await enqueue(client, 'q', numberedTasks(2, 0, { concurrency_key: 'shut' }));
  await promote(client);
  expect(await why()).toEqual([
    note(
      'warning',
      /^2 tasks wait at 1 concurrency key \(1 paused\); concurrency key shut is paused and admits none$/,
      /tock concurrency-key q shut --resume/,
    ),
  ]);
  await client.query(`select tock.put_concurrency_key('q', 'shut', '{"paused": false}')`);
  expect(await why()).toEqual([]);
});

test('of very many concurrency keys the first twenty are counted', async () => {
  await enqueue(
    client,
    'q',
    numberedTasks(44).map((task, n) => ({ ...task, concurrency_key: `g${n % 22}` })),
  );
  await promote(client);
  await claim(client, 'q', { limit: 30 });
  await claimed('30 seconds');
  expect(await why()).toMatchObject([
    {
      detail: expect.stringMatching(/^20 tasks wait at the first 20 concurrency keys \(20 full\)/),
    },
  ]);
});

test('the best reason comes first: no worker before an open transaction and concurrency keys', async () => {
  await enqueue(client, 'q', numberedTasks(3, 0, { concurrency_key: 'g' }));
  await enqueue(client, 'q', numberedTasks(3));
  await promote(client);
  await old('3 hours');
  const other = await db.connect(db.edgeUrl);
  await other.query('begin');
  await enqueue(other, 'other', numberedTasks(1));
  const reasons = (await why('q', false)).filter(
    ({ finding }) => finding !== 'maintenance jobs are late',
  );
  expect(reasons).toMatchObject([
    { finding: 'no worker claims from this queue', severity: 'warning' },
    { finding: 'an open transaction holds tasks back', severity: 'note' },
    { finding: 'concurrency keys hold tasks back', severity: 'warning' },
  ]);
  await other.query('rollback');
});

test('a queue with push has a hint about the pusher, and workers that may still be waiting are a note', async () => {
  await enqueue(client, 'q', numberedTasks(2));
  await old('30 seconds');
  expect(await why()).toEqual([
    says(
      'workers may be waiting',
      'note',
      /^2 tasks are ready, the oldest for 3\d s$/,
      /retry_after_seconds/,
    ),
  ]);
  await put({ push: { url: 'https://example.com/hook' } });
  await old('5 minutes');
  expect(await why()).toEqual([
    says(
      'tasks are not pushed',
      'warning',
      /^2 tasks are ready, the oldest for 5 min, and none has been sent yet$/,
      /TOCK_PUSH_SECRET.*POST \/v1\/tick/,
    ),
  ]);
});

test('unfinished parents are counted by state, not named', async () => {
  const parents = await enqueue(client, 'other', numberedTasks(1372));
  const runs = await claim(client, 'other', { limit: 1000 });
  const dead = runs.slice(0, 3).map(({ id }) => ({ id, fatal: true }));
  await fail(client, leaseOf(runs), dead);
  await complete(client, leaseOf(runs));
  const after = { depends_on: parents, on_parent_failure: 'run' };
  const [child] = await enqueue(client, 'q', [after, { depends_on: parents.slice(-1) }]);
  expect(await why()).toEqual([]);
  await client.query("update tock.waiting set created_at = now() - interval '3 minutes'");
  expect(await why()).toEqual([
    says(
      'tasks wait for their parents',
      'note',
      new RegExp(
        `^2 tasks wait; task ${child} has waited for 3 min for its own: 997 of 1,372 done, 3 dead, 372 ready$`,
      ),
      new RegExp(`tock parents ${child} lists them$`),
    ),
  ]);
  await complete(client, leaseOf(await claim(client, 'other', { limit: 1000 })));
  expect((await why()).map(({ finding }) => finding)).not.toContain('tasks wait for their parents');
});

test('a pg_cron that runs jobs once a minute is a note while tasks are due', async () => {
  await enqueue(client, 'q', numberedTasks(1, 0, { delay_seconds: 600 }));
  await client.query("update tock.waiting set due_at = now() - interval '20 seconds'");
  expect(await rows(client, "select * from tock.why_of_time('q')")).toEqual([]);
  // All tests share the database with pg_cron, so the test replaces the function that reads its version.
  await client.query('begin');
  await client.query(
    "create or replace function tock.cron_version() returns text language sql as $$ select '1.4' $$",
  );
  expect(await rows(client, "select * from tock.why_of_time('q')")).toEqual([
    says(
      'pg_cron has no intervals in seconds',
      'note',
      /^1 task waits although due, the first for 2\d s: pg_cron 1.4 runs jobs once a minute$/,
      /claim makes them ready earlier.*pg_cron 1.5/,
    ),
  ]);
  await client.query('rollback');
});

test('a task that fails repeatedly is named with its error, and so is one that loses its workers', async () => {
  const [poison] = await enqueue(client, 'q', [{ payload: 'p', max_attempts: 99 }]);
  for (let n = 1; n <= 3; n++) {
    const runs = await claim(client, 'q');
    await fail(client, leaseOf(runs), { error: { message: `broken ${n}` }, retry_in_seconds: 900 });
    if (n < 2) expect(await why(), `${n}`).toEqual([]);
    else expect((await why())[0]?.hint).not.toMatch(/cancel/);
    if (n < 3) await client.query("update tock.waiting set due_at = now() - interval '1 s'");
    await promote(client);
  }
  await claimed('2 minutes');
  expect(await why()).toEqual([
    says(
      'a task fails again and again',
      'warning',
      new RegExp(`^task ${poison} has failed 3 times, the last time: broken 3$`),
      new RegExp(`tock cancel ${poison}`),
    ),
  ]);
  await client.query('select tock.cancel(array[$1::bigint])', [poison]);
  expect(await why()).toEqual([]);
  const [killer] = await enqueue(client, 'q', [{}]);
  for (let n = 0; n < 3; n++) {
    await expire(client, leaseOf(await claim(client, 'q')));
    await reap(client);
  }
  await old('1 hour');
  expect((await why()).at(-1)?.hint).not.toMatch(/cancel/);
  await claimed('2 minutes');
  expect((await why()).slice(-1)).toEqual([
    says(
      'a task kills its workers',
      'warning',
      new RegExp(`^3 runs of task ${killer} were lost`),
      new RegExp(`tock task ${killer}; .*over 60 s.*tock cancel ${killer}`),
    ),
  ]);
});

test('a task that fails repeatedly is named also while it is ready, at any age', async () => {
  const [poison] = await enqueue(client, 'q', [{ max_attempts: 99 }]);
  await old('1 hour');
  for (let n = 1; n <= 4; n++)
    await fail(client, leaseOf(await claim(client, 'q')), { error: 'no', retry_in_seconds: 0 });
  expect(await why()).toEqual([
    says(
      'a task fails again and again',
      'warning',
      new RegExp(`^task ${poison} has failed 4 times, the last time: no$`),
      /^fix the reported error$/,
    ),
  ]);
});

test('dead tasks are named by their error, with the command to redrive them', async () => {
  await enqueue(client, 'q', numberedTasks(3));
  const runs = await claim(client, 'q', { limit: 3 });
  await fail(client, leaseOf(runs), { error: { message: 'no such host' }, fatal: true });
  expect(await why()).toEqual([
    says(
      'tasks die',
      'warning',
      /^3 tasks have died, the last \d s ago, of: no such host$/,
      /tock redrive q/,
    ),
  ]);
  expect(await why('other')).toEqual([]);
});

test('an open transaction that has written to Tock is named, and one that only reads is not', async () => {
  const other = await db.connect();
  await other.query('begin');
  await enqueue(client, 'other', numberedTasks(1));
  await db.connect(db.superUrl).then((on) => on.query('begin; select count(*) from tock.runs'));
  await other.query('select count(*) from tock.runs');
  const first =
    "select xact_start < clock_timestamp() - interval '1 ms' from pg_stat_activity where pid = $1";
  const pid = await value<number>(other, 'select pg_backend_pid()');
  await expect.poll(() => value(client, first, [pid])).toBe(true);
  const open = () => rows<Reason>(client, "select * from tock.why_of_transactions('0 s')");
  expect(await open()).toEqual([]);
  await enqueue(other, 'q', numberedTasks(2));
  expect(await open()).toEqual([
    says(
      'an open transaction holds tasks back',
      'warning',
      new RegExp(`${pid}.* has been in a transaction for \\d+ s, and has written to Tock in it`),
      /^have it commit/,
    ),
  ]);
  expect((await open())[0]?.hint).not.toMatch(/terminate/);
  const how = (age: string) =>
    value(client, "select tock.how_to_end(now() - $1::interval, 'a', 'b')", [age]);
  expect(await how('59 s')).toBe('a');
  expect(await how('61 s')).toBe('a; or, as it has lasted for over 60 s, b');
  // why() names transactions that have been open for five seconds, so this one begins anew.
  await other.query('commit; begin');
  await enqueue(other, 'q', numberedTasks(1));
  expect(await why()).toEqual([]);
  await other.query('commit');
  expect(await open()).toEqual([]);
  await other.query('begin');
  expect(await claim(other, 'q')).toHaveLength(1);
  expect(await open()).toHaveLength(1);
  await other.query('rollback');
  expect(await open()).toEqual([]);
  await other.query('begin');
  await enqueue(other, 'q', numberedTasks(1));
  await other.query("prepare transaction 'it''s'");
  expect(await open()).toEqual([
    says(
      'a prepared transaction holds tasks back',
      'warning',
      /^it's has been prepared for \d+ s, and has written to Tock$/,
      /commit prepared 'it''s'$/,
    ),
  ]);
  await other.query("rollback prepared 'it''s'");
  expect(await open()).toEqual([]);
});

test("another role's open transaction is named, without its age, which is hidden", async () => {
  const other = await db.connect(db.edgeUrl);
  await other.query('begin');
  expect(await why()).toEqual([]);
  await enqueue(other, 'q', numberedTasks(1));
  const pid = await value<number>(other, 'select pg_backend_pid()');
  expect(await why()).toEqual([
    says(
      'an open transaction holds tasks back',
      'note',
      new RegExp(`^process ${pid} .*has written to Tock in a transaction that stays open$`),
      /^have it commit.*grant pg_read_all_stats to /,
    ),
  ]);
  await other.query('commit');
  expect(await why()).toEqual([]);
});

test('due tasks that are not promoted are named, and so are late or failing maintenance jobs', async () => {
  await enqueue(client, 'q', numberedTasks(2, 0, { delay_seconds: 60 }));
  await client.query("update tock.waiting set due_at = now() - interval '5 minutes'");
  await client.query("update tock.migrations set applied_at = now() - interval '1 day'");
  const late = await why('q', false);
  expect(late).toEqual([
    says(
      'due tasks are not made ready',
      'critical',
      /^2 tasks wait although due, the first for 5 min/,
      /pg_cron runs.*POST \/v1\/tick.*tock tick/,
    ),
    says('maintenance jobs are late', 'warning', /promote \(never run\)/, /tick/),
  ]);
  await client.query(
    "update tock.maintenance_jobs set failures = 3, last_error = 'it broke' where name = 'reap'",
  );
  expect((await why('q', false)).map(({ finding }) => finding)).toContain(
    'a maintenance job fails',
  );
  await client.query(
    "update tock.maintenance_jobs set failures = 0, last_error = null where name = 'reap'",
  );
  await client.query('update tock.maintenance_jobs set last_started_at = null, last_ok_at = null');
  expect(await why()).toMatchObject([{ finding: 'no worker claims from this queue' }]);
  await claim(client, 'q', { limit: 2 });
  expect(await why()).toEqual([]);
});

test('of equally good reasons the worst comes first', async () => {
  await enqueue(client, 'q', numberedTasks(9));
  await fail(client, leaseOf(await claim(client, 'q')), { fatal: true });
  await old('3 minutes');
  await enqueue(client, 'q', numberedTasks(1, 0, { delay_seconds: 60 }));
  await client.query("update tock.waiting set due_at = now() - interval '5 minutes'");
  // No tick has come since the template was made, so maintenance jobs may be late.
  const reasons = (await why('q', false)).filter(
    ({ finding }) => finding !== 'maintenance jobs are late',
  );
  expect(reasons.map(({ finding }) => finding)).toEqual([
    'workers do not keep up',
    'due tasks are not made ready',
    'tasks die',
  ]);
  await makeDue(client, 'q');
});
