import { beforeEach, expect, test } from 'vitest';
import { createSegments } from '../../kernel/segment/segments.ts';
import { client, databasePerTest, db } from '../../test_database.ts';
import { enqueue, numberedTasks, pidOf, rows, value, waitUntilBlocked } from '../../verbs.ts';
import { expectFindings, type Finding } from '../findings.ts';

databasePerTest();
beforeEach(() => client.query('select tock.tick()'));

const doctor = () => rows<Finding>(client, 'select * from tock.doctor()');
const named = async () => (await doctor()).map(({ finding }) => finding);
const expectDoctor = async (...patterns: RegExp[]) => expectFindings(await doctor(), ...patterns);

test('a healthy database has no finding', async () => {
  await enqueue(client, 'q', [{}, { delay_seconds: 60 }]);
  expect(await doctor()).toEqual([]);
});

test('a sequence that is behind or cached is found, and the guard repairs both', async () => {
  await enqueue(client, 'q', [{}, {}, {}]);
  await client.query("select setval('tock.positions', 1)");
  await client.query('alter sequence tock.positions cache 50');
  await expectDoctor(
    /^critical: the sequence is behind: .*is at 1.* => /,
    /: the sequence is cached: .*50.* => /,
  );
  await client.query("select tock.run_maintenance('guard')");
  await expectDoctor(/^warning: the guard had to act: 2 .*behind.* => /);
  await client.query("update tock.reports set reported_at = now() - interval '25 hours'");
  expect(await named()).toEqual([]);
});

test('a task enqueued during doctor() does not make the sequence look behind', async () => {
  const writer = await db.connect();
  await writer.query('begin; lock table tock.waiting in access exclusive mode');
  const pid = await pidOf(client);
  const findings = doctor();
  await waitUntilBlocked(writer, pid);
  await enqueue(writer, 'q', numberedTasks(3, 0, { delay_seconds: 60 }));
  await writer.query('commit');
  expect(await findings).toEqual([]);
});

test("the locks of writers' transactions are no finding, even while they end", async () => {
  let working = true;
  const writers = [await db.connect(), await db.connect()].map(async (writer) => {
    while (working) await enqueue(writer, 'q', [{}, {}]);
  });
  const seen = new Set<string>();
  for (let times = 0; times < 50; times++) for (const finding of await named()) seen.add(finding);
  working = false;
  await Promise.all(writers);
  expect([...seen]).toEqual([]);
});

test('missing segments are found before they are needed', async () => {
  const advance = (to: string) =>
    client.query(`select setval('tock.positions', (select max(${to}) from tock.segments))`);
  await advance('first_position');
  await expectDoctor(/^warning: no segment lies ahead: \d+ positions/);
  await advance('end_position - 10');
  await expectDoctor(/^critical: .*: 10 positions are left => /);
  await createSegments(client);
  expect(await named()).toEqual([]);
});

test('a maintenance job that is late or fails is found, with its error', async () => {
  await client.query(
    `update tock.maintenance_jobs set last_ok_at = now() - interval '1 hour' where name = 'reap'`,
  );
  await client.query(`update tock.migrations set applied_at = now() - interval '1 hour'`);
  await expectDoctor(
    /^note: maintenance jobs are late: reap \(last run at 2.*\) => .*(in database tock_cron|without pg_cron).*\/v1\/tick/,
  );
  // A sleeping database gets a call only when something is due. So late jobs are a note until then.
  await enqueue(client, 'q', [{ delay_seconds: 60 }]);
  await expectDoctor(/^note: /);
  await client.query("update tock.waiting set due_at = now() - interval '3 minutes'");
  await client.query('update tock.maintenance_jobs set reached_at = null');
  await expectDoctor(/^warning: maintenance jobs are late: /);
  await client.query(
    `update tock.maintenance_jobs set failures = 3, last_error = '57014 oops' where name = 'reap'`,
  );
  await expectDoctor(/^critical: a maintenance job fails: reap, 3 times in a row: 57014 oops => /);
});

test("a lock of Tock's that another session holds is found, in a transaction too, and a claim's lock is not", async () => {
  const stranger = await db.connect();
  await stranger.query("set application_name = 'lab'");
  const pid = await pidOf(stranger);
  const expectLock = async (severity: string, detail: string) => {
    const hint = `in a minute: select pg_terminate_backend\\(${pid}\\).*revoke connect, temporary on`;
    const lock = `^${severity}: a foreign session holds a lock: ${detail}.* => .*${hint}`;
    expectFindings(await doctor(), lock);
  };
  await enqueue(client, 'q', [{}]);
  await stranger.query("begin; select * from tock.claim('q')");
  await stranger.query("select tock.enqueue('q', '[{}]')");
  expect(await doctor()).toEqual([]);
  await stranger.query('rollback');
  await stranger.query("select pg_advisory_lock('tock'::regnamespace::oid::bigint << 32 | 1)");
  // A lock of one bigint key has another key space, so it cannot block Tock.
  expect(await doctor()).toEqual([]);
  await stranger.query("select pg_advisory_lock('tock'::regnamespace::oid::integer, 1)");
  await expectLock('warning', `1 of Tock's .* outside of any.* process ${pid} \\(\\w+ as lab`);

  // A role that may only connect can still take these locks, and they block every writer.
  await stranger.query('select pg_advisory_unlock_all(); begin');
  await stranger.query(
    "select pg_advisory_xact_lock('tock'::regnamespace::oid::integer, 1073741824 + n) from generate_series(0, 4095) n",
  );
  await expect(enqueue(client, 'q', [{}])).rejects.toMatchObject({
    code: 'TK503',
    hint: expect.stringContaining('tock doctor'),
  });
  await expectLock('critical', `4096 of Tock's .* in a transaction for \\d+ s.* process ${pid} `);
  await stranger.query('rollback');
  expect(await doctor()).toEqual([]);
});

test('reports: those of verification are critical, a repair after a restore is a note unless the sequence was behind', async () => {
  const report = (kind: string, detail: object) =>
    client.query('insert into tock.reports (kind, detail) values ($1, $2)', [kind, detail]);
  await report('guard', { found: 'restored' });
  await expectDoctor(/^note: the guard had to act: /);
  await report('guard', { found: 'behind' });
  await report('guard', { found: 'restored' });
  await expectDoctor(/^warning: .*: 3 reports/);
  await client.query('delete from tock.reports');
  await report('verify_segments', { segment: 1 });
  await expectDoctor(
    /^critical: the verification found runs .*: 1 report within a day, the newest: {"segment": 1} => /,
  );
});

test('a check that doctor() cannot run is a finding, and the others run', async () => {
  const owner = await db.connect();
  await owner.query('begin; lock table tock.maintenance_jobs in access exclusive mode');
  await client.query('alter sequence tock.positions cache 50');
  const findings = await doctor();
  expect(findings.map(({ finding }) => finding)).toEqual([
    'the sequence is cached',
    'a check of the doctor failed',
  ]);
  expect(findings[1]?.detail).toMatch(/^maintenance: 55P03 /);
  const [lock] = await rows(client, findings[1]?.hint.match(/select .*/)?.[0] as string);
  expect(lock).toEqual({
    pid: await pidOf(owner),
    relation: expect.stringContaining('maintenance_jobs'),
  });
  await owner.query('rollback');
  expect(await named()).toEqual(['the sequence is cached']);
});

test('a long transaction is shown with its session, without the values of its statement', async () => {
  const superuser = await db.connect(db.superUrl);
  const held = await db.connect();
  const pid = await pidOf(held);
  const described = () => value<string>(superuser, 'select tock.described_session($1)', [pid]);
  await held.query("set application_name = 'report'");
  await held.query("begin; update tock.maintenance_jobs set last_error = 'secret' where false");
  expect(await described()).toMatch(
    /^process \d+ \(tock as report from 127.0.0.1\), idle in transaction since 20.*Z, last: begin \.\.\.$/,
  );
  await held.query("select 'secret' from tock.maintenance_jobs where name = 'secret'");
  expect(await described()).toMatch(/last: select \.\.\.$/);
});

test('a view shows the findings in psql, and only governor roles may read it', async () => {
  await client.query('alter sequence tock.positions cache 50');
  expect(await rows(client, 'select finding, severity from tock.findings')).toEqual([
    { finding: 'the sequence is cached', severity: 'critical' },
  ]);
  const superuser = await db.connect(db.superUrl);
  await superuser.query('set role tock_admin');
  expect(await rows(superuser, 'select finding from tock.findings')).toHaveLength(1);
  await superuser.query('set role tock_worker');
  await expect(superuser.query('select finding from tock.findings')).rejects.toThrow('denied');
});
