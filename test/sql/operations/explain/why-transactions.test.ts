import { expect, test } from 'vitest';
import { client, db } from '../../test_database.ts';
import {
  claim,
  enqueue,
  fail,
  leaseOf,
  numberedTasks,
  pidOf,
  promote,
  rows,
  value,
} from '../../verbs.ts';
import { expectFindings, type Finding } from '../findings.ts';
import { expectWhy, old, overdue, queuesPerTest, why, whyWithoutTick } from './why.ts';

queuesPerTest();

test('the best reason comes first: no worker before an open transaction and concurrency keys', async () => {
  await enqueue(client, 'q', numberedTasks(3, 0, { concurrency_key: 'g' }));
  await enqueue(client, 'q', numberedTasks(3));
  await promote(client);
  await old('3 hours');
  const other = await db.connect(db.edgeUrl);
  await other.query('begin');
  await enqueue(other, 'other', numberedTasks(1));
  expectFindings(
    await whyWithoutTick(),
    /^warning: no worker claims from this queue: /,
    /^note: an open transaction holds tasks back: /,
    /^warning: concurrency keys hold tasks back: /,
  );
  await other.query('rollback');
});

test('a pg_cron that runs jobs once a minute is a note while tasks are due', async () => {
  await enqueue(client, 'q', numberedTasks(1, 0, { delay_seconds: 600 }));
  await overdue('20 seconds');
  const ofTime = () => rows<Finding>(client, "select * from tock.why_of_time('q')");
  expectFindings(await ofTime());
  // All tests share the database with pg_cron, so the test replaces the function that reads its version.
  await client.query('begin');
  await client.query(
    "create or replace function tock.cron_version() returns text language sql as $$ select '1.4' $$",
  );
  expectFindings(
    await ofTime(),
    /^note: pg_cron has no intervals in seconds: 1 task waits although due, the first for 2\d s: .* => .*pg_cron 1.5/,
  );
  await client.query('rollback');
});

test('an open transaction that has written to Tock is named, and one that only reads is not', async () => {
  const other = await db.connect();
  const pid = await pidOf(other);
  await other.query('begin');
  await enqueue(client, 'other', numberedTasks(1));
  await db.connect(db.superUrl).then((on) => on.query('begin; select count(*) from tock.runs'));
  await other.query('select count(*) from tock.runs');
  const first =
    "select xact_start < clock_timestamp() - interval '1 ms' from pg_stat_activity where pid = $1";
  await expect.poll(() => value(client, first, [pid])).toBe(true);
  const open = () => rows<Finding>(client, "select * from tock.why_of_transactions('0 s')");
  expectFindings(await open());
  await enqueue(other, 'q', numberedTasks(2));
  expectFindings(
    await open(),
    `^warning: an open transaction holds tasks back: .*${pid}.* and has written to Tock in it.* => have it commit(?!.*terminate)`,
  );
  const how = (age: string) =>
    value(client, "select tock.how_to_end(now() - $1::interval, 'a', 'b')", [age]);
  expect(await how('59 s')).toBe('a');
  expect(await how('61 s')).toBe('a; or, as it has lasted for over 60 s, b');
  // why() names transactions that have been open for five seconds, so this one begins anew.
  await other.query('commit; begin');
  await enqueue(other, 'q', numberedTasks(1));
  await expectWhy();
  await other.query('commit');
  expectFindings(await open());
  await other.query('begin');
  expect(await claim(other, 'q')).toHaveLength(1);
  expect(await open()).toHaveLength(1);
  await other.query('rollback');
  expectFindings(await open());
  await other.query('begin');
  await enqueue(other, 'q', numberedTasks(1));
  await other.query("prepare transaction 'it''s'");
  expectFindings(
    await open(),
    /^warning: a prepared transaction holds tasks back: it's has .* written to Tock => .*commit prepared 'it''s'$/,
  );
  await other.query("rollback prepared 'it''s'");
  expectFindings(await open());
});

test("another role's open transaction is named, without its age, which is hidden", async () => {
  const other = await db.connect(db.edgeUrl);
  await other.query('begin');
  await expectWhy();
  await enqueue(other, 'q', numberedTasks(1));
  const pid = await pidOf(other);
  await expectWhy(
    `^note: an open transaction .*: process ${pid} .* in a transaction that stays open => .*grant pg_read_all_stats to `,
  );
  await other.query('commit');
  await expectWhy();
});

test('due tasks that are not promoted are named, and so are late or failing maintenance jobs', async () => {
  await enqueue(client, 'q', numberedTasks(2, 0, { delay_seconds: 60 }));
  await overdue('5 minutes');
  await client.query("update tock.migrations set applied_at = now() - interval '1 day'");
  expectFindings(
    await why('q', false),
    /^critical: due tasks are not made ready: 2 tasks wait .* 5 min.* => .*pg_cron runs.*POST \/v1\/tick.*tock tick/,
    /^warning: maintenance jobs are late: .*promote \(never run\).* => .*tick/,
  );
  const failed = (failures: number, error: string | null) =>
    client.query(
      "update tock.maintenance_jobs set failures = $1, last_error = $2 where name = 'reap'",
      [failures, error],
    );
  await failed(3, 'it broke');
  expect((await whyWithoutTick()).map(({ finding }) => finding)).toContain(
    'a maintenance job fails',
  );
  await failed(0, null);
  await client.query('update tock.maintenance_jobs set last_started_at = null, last_ok_at = null');
  await expectWhy(/^\w+: no worker claims from this queue/);
  await claim(client, 'q', { limit: 2 });
  await expectWhy();
});

test('of equally good reasons the worst comes first', async () => {
  await enqueue(client, 'q', numberedTasks(9));
  await fail(client, leaseOf(await claim(client, 'q')), { fatal: true });
  await old('3 minutes');
  await enqueue(client, 'q', numberedTasks(1, 0, { delay_seconds: 60 }));
  await overdue('5 minutes');
  expectFindings(
    await whyWithoutTick(),
    /: workers do not keep up: /,
    /: due tasks are not made ready: /,
    /: tasks die: /,
  );
});
