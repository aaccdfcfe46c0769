import type pg from 'pg';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { pooling } from '../../../../cli/diagnosis.ts';
import { migrate } from '../../../../migrate/migrate.ts';
import { type OwnCluster, ownCluster } from '../../../database.ts';
import { rows, waitUntil } from '../../verbs.ts';

type Finding = { finding: string; severity: string; detail: string; hint: string };

let cluster: OwnCluster;
let client: pg.Client;
let superuser: pg.Client;

async function connect(): Promise<void> {
  client = await cluster.connect();
  superuser = await cluster.connect(cluster.superUrl);
}

beforeAll(async () => {
  cluster = await ownCluster();
  await connect();
  await client.query('select tock.tick()');
});

afterAll(() => cluster?.drop());

/** The findings without notes: an old pg_cron always causes a note. */
const findings = () =>
  rows<Finding>(client, "select * from tock.doctor() where severity <> 'note'");
const named = async () => (await findings()).map(({ finding }) => finding);
const part = (call: string) => rows<Finding>(client, `select * from tock.doctor_of_${call}`);

async function restart(settings: Record<string, string | null>): Promise<void> {
  for (const [name, setting] of Object.entries(settings)) {
    const how = setting === null ? `reset ${name}` : `set ${name} = ${setting}`;
    await superuser.query(`alter system ${how}`);
  }
  await cluster.stop();
  await cluster.start();
  await connect();
}

/** Connects again, because settings of roles take effect at the start of a session. */
async function anew(): Promise<void> {
  await client.end();
  client = await cluster.connect();
}

const hasCron = async () =>
  (await rows(client, "select from pg_extension where extname = 'pg_cron'")).length > 0;

test('a healthy cluster has no finding', async () => {
  expect(await named()).toEqual([]);
});

test('an unused replication slot is found, and one whose WAL is lost', async () => {
  await superuser.query("select pg_create_physical_replication_slot('left', true)");
  expect(await findings()).toMatchObject([
    {
      finding: 'a replication slot has no reader',
      detail: expect.stringMatching(/^left \(physical\) keeps \d+ \w+ of the log$/),
      hint: expect.stringContaining("pg_drop_replication_slot('left')"),
    },
  ]);
  await superuser.query("alter system set max_slot_wal_keep_size = '1MB'");
  await superuser.query('select pg_reload_conf()');
  await waitUntil('the log is gone', async () => {
    await superuser.query('create table wal as select 1; drop table wal');
    await superuser.query('select pg_switch_wal()');
    await superuser.query('checkpoint');
    return (await named()).join() === 'a replication slot has lost its log';
  });
  await superuser.query("select pg_drop_replication_slot('left')");
  await superuser.query('alter system reset max_slot_wal_keep_size');
  await superuser.query('select pg_reload_conf()');
  expect(await named()).toEqual([]);
});

/** Until the end of the test no job of pg_cron has a transaction of its own. */
async function withoutJobs(): Promise<void> {
  if (!(await superuser.query("select to_regclass('cron.job') as jobs")).rows[0].jobs) return;
  await superuser.query('update cron.job set active = false where active');
  onTestFinished(() => void superuser.query('update cron.job set active = true'));
  const running =
    "select from pg_stat_activity where application_name like 'pg_cron%' and state <> 'idle'";
  await waitUntil('no job runs', async () => (await superuser.query(running)).rowCount === 0);
}

test('the oldest open transaction is found with its session, and the oldest prepared one', async () => {
  await withoutJobs();
  const holder = await cluster.connect();
  await holder.query(
    "set application_name = 'report'; begin; select 'secret' from tock.maintenance_jobs",
  );
  expect(await part("sessions('1 minute')")).toEqual([]);
  const [open, ...others] = await part("sessions('0 s')");
  expect(others).toEqual([]);
  expect(open).toMatchObject({
    finding: 'a transaction has been open for long',
    detail: expect.stringMatching(
      /^process \d+ \(tock as report from 127.0.0.1\), idle in transaction since 20.*, since 20/,
    ),
  });
  expect(open?.detail).not.toContain('secret');
  await superuser.query(open?.hint.match(/select [^:]+/)?.[0] as string);
  await waitUntil('it is over', async () => (await part("sessions('0 s')")).length === 0);
  await client.query("begin; create table held (a integer); prepare transaction 'it''s held'");
  const [prepared] = await part("sessions('0 s')");
  expect(prepared).toMatchObject({
    finding: 'a prepared transaction has been open for long',
    detail: expect.stringMatching(/^it's held \(tock\), since 20/),
  });
  await client.query(prepared?.hint.match(/rollback prepared '.*'/)?.[0] as string);
  expect(await part("sessions('0 s')")).toEqual([]);
});

test('the transaction that blocks vacuum longest is found: a session of any role, or a prepared transaction', async () => {
  await withoutJobs();
  const holder = await cluster.connect(cluster.superUrl);
  await holder.query('begin isolation level repeatable read; select from tock.queues limit 1');
  for (let n = 0; n < 20; n++) await client.query('select pg_current_xact_id()');
  expect(await part('horizon()')).toEqual([]);
  expect(await part('horizon(15)')).toMatchObject([
    {
      finding: 'vacuum is held back',
      detail: expect.stringMatching(/^process \d+ \(postgres\), over the last \d\d transactions$/),
    },
  ]);
  await holder.query('commit');
  expect(await part('horizon(15)')).toEqual([]);
  await client.query("begin; create table held (a integer); prepare transaction 'held'");
  for (let n = 0; n < 20; n++) await client.query('select pg_current_xact_id()');
  expect(await part('horizon(15)')).toMatchObject([
    { detail: expect.stringMatching(/^the prepared transaction held of tock,/) },
  ]);
  await client.query("rollback prepared 'held'");
  expect(await part('horizon(15)')).toEqual([]);
});

test('pg_cron jobs that are missing, inactive, changed or surplus are found, and the hints repair them', async ({
  skip,
}) => {
  skip(!(await hasCron()), 'no pg_cron here');
  await superuser.query("update cron.job set active = false where jobname = 'tock:reap'");
  await superuser.query(
    "update cron.job set command = 'select 1' where jobname = 'tock:create_segments'",
  );
  await superuser.query(
    "update cron.job set database = 'postgres' where jobname = 'tock:verify_segments'",
  );
  await client.query("select cron.unschedule('tock:prune')");
  await client.query("select cron.schedule('mine', '0 0 1 1 *', 'select tock.tick();')");
  await client.query("select cron.schedule('tock:old', '0 0 1 1 *', 'select 1')");
  await superuser.query("update cron.job set schedule = '@hourly' where jobname = 'tock:tick'");
  const [jobs, extra, ...others] = await findings();
  expect(others).toEqual([]);
  expect(jobs).toMatchObject({
    finding: 'a job of pg_cron is wrong',
    severity: 'critical',
    detail:
      'tock:create_segments calls something else, tock:prune is missing, tock:reap is switched off, tock:tick runs by @hourly, tock:verify_segments runs in database postgres',
  });
  expect(extra).toMatchObject({ finding: 'pg_cron has an extra job' });
  expect(extra?.detail).toMatch(/\(mine of tock: select tock.tick\(\);\), \d+ \(tock:old of tock/);
  // Surplus jobs delay no task, so why() does not name them.
  await client.query("select tock.put_queue('q', '{}')");
  const why = await rows<{ finding: string }>(client, "select * from tock.why('q')");
  expect(why.map(({ finding }) => finding)).toEqual([jobs?.finding]);
  const listed = await rows<{ jobname: string; active: boolean; schedule: string }>(
    client,
    'select * from tock.cron_jobs_list()',
  );
  expect(listed.find(({ jobname }) => jobname === 'tock:reap')).toMatchObject({ active: false });
  expect(listed.find(({ jobname }) => jobname === 'tock:tick')?.schedule).toBe('@hourly');
  expect(listed.map(({ jobname }) => jobname)).not.toContain('mine');
  for (const hint of [jobs?.hint, extra?.hint]) {
    await client.query(hint?.replace(/; then tock migrate.*$/, '') as string);
  }
  await migrate(cluster.url, { directory: process.env.TOCK_SQL_DIRECTORY });
  expect(await named()).toEqual([]);
});

test('a server that has just started gives pg_cron time to start', async ({ skip }) => {
  skip(!(await hasCron()), 'no pg_cron here');
  const late =
    "update tock.maintenance_jobs set last_ok_at = now() - interval '7 days' where name = 'prune'";
  await client.query("update tock.migrations set applied_at = now() - interval '8 days'");
  // prune is late, but since the start of the server pg_cron has not had the time to run it.
  await client.query(late);
  expect(await part('maintenance()')).toEqual([]);
});

test('a pg_cron without schedules in seconds is found', async ({ skip }) => {
  skip(!(await hasCron()), 'no pg_cron here');
  const version = "update pg_extension set extversion = $1 where extname = 'pg_cron'";
  const [is] = await rows<{ extversion: string }>(
    client,
    "select extversion from pg_extension where extname = 'pg_cron'",
  );
  await superuser.query(version, ['1.4-1']);
  expect(await part('cron()')).toMatchObject([
    {
      finding: 'pg_cron has no intervals in seconds',
      severity: 'note',
      detail: expect.stringContaining('1.4-1'),
    },
  ]);
  await superuser.query(version, ['1.6']);
  expect(await part('cron()')).toEqual([]);
  await superuser.query(version, [is?.extversion]);
});

test('a failed pg_cron job is found, and pg_cron records that are never deleted', async ({
  skip,
}) => {
  skip(!(await hasCron()), 'no pg_cron here');
  const note = (status: string, message: string) =>
    superuser.query(
      `insert into cron.job_run_details (jobid, runid, database, username, command, status, return_message)
       select jobid, nextval('cron.runid_seq'), database, username, command, $1, $2 from cron.job where jobname = 'tock:prune'`,
      [status, message],
    );
  await note('failed', 'connection failed');
  expect(await findings()).toMatchObject([
    {
      finding: 'pg_cron cannot run its jobs',
      detail: 'tock:prune: connection failed',
      hint: expect.stringContaining('use_background_workers'),
    },
  ]);
  await note('succeeded', '1 row');
  expect(await named()).toEqual([]);
  // At its start pg_cron writes this record for each job that was running when the server ended.
  await note('failed', 'server restarted');
  expect(await named()).toEqual([]);
  expect(await part('cron_notes(1000)')).toMatchObject([
    { finding: 'the run details of pg_cron grow' },
  ]);
});

test('a missing pg_cron launcher is found, until the server has started again', async ({
  skip,
}) => {
  skip(!(await hasCron()), 'no pg_cron here');
  await superuser.query(
    "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'pg_cron scheduler'",
  );
  await waitUntil('it is missed', async () => (await named()).includes('pg_cron does not run'));
  expect((await findings())[0]).toMatchObject({
    severity: 'critical',
    detail: 'its launcher has ended',
    hint: expect.stringContaining('restart'),
  });
});

const harmful: Record<string, string> = {
  fsync: 'off',
  full_page_writes: 'off',
  synchronous_commit: 'off',
  autovacuum: 'off',
  track_counts: 'off',
  max_connections: '10',
  max_worker_processes: '3',
};

test('the mode of a pooler is a finding unless it is transaction mode', async ({ skip }) => {
  const { poolUrl } = cluster;
  if (!poolUrl) return skip('no PgBouncer here');
  expect(await pooling(cluster.url)).toEqual([]);
  expect(await pooling(poolUrl)).toEqual([]);
  await cluster.pool({ settings: { server_round_robin: 1, min_pool_size: 2 } });
  expect(await pooling(poolUrl)).toEqual([]);
  await cluster.pool({ mode: 'session' });
  const session = { finding: 'the pooler is in session mode' };
  expect(await pooling(poolUrl)).toMatchObject([{ ...session, severity: 'warning' }]);
  expect(await pooling(poolUrl, false)).toMatchObject([{ ...session, severity: 'note' }]);
  await cluster.pool({ mode: 'statement' });
  expect(await pooling(poolUrl)).toMatchObject([
    { finding: 'the pooler is in statement mode', severity: 'critical' },
  ]);
  await cluster.pool();
  expect(await pooling(poolUrl)).toEqual([]);
});

test('settings that lose tasks, stop vacuum or leave too little room are found until they are reset', async () => {
  if (await hasCron()) harmful['cron.database_name'] = 'postgres';
  const modern =
    (await rows(superuser, "select from pg_settings where name = 'cron.timezone'")).length > 0;
  if (modern) {
    harmful['cron.timezone'] = "'Asia/Tokyo'";
    harmful['cron.launch_active_jobs'] = 'off';
  }
  await restart(harmful);
  await superuser.query('alter role tock_worker set synchronous_commit = FALSE');
  await superuser.query('alter role all set synchronous_commit = off');
  await anew();
  await superuser.query('alter role tock_edge reset statement_timeout');
  await superuser.query("alter role tock_edge set lock_timeout = '0.5s'");
  await client.query('alter table tock.maintenance_jobs set (autovacuum_enabled = false)');
  for (let n = 0; n < 5; n++) await cluster.connect();
  const wrong = await findings();
  const of = (finding: string) => wrong.find((row) => row.finding === finding);
  expect(of('a setting loses tasks in a crash')).toMatchObject({
    severity: 'critical',
    detail: 'fsync is off, full_page_writes is off',
  });
  expect(of('a role loses tasks in a crash')?.detail).toBe(
    'every role has synchronous_commit = off, role tock_worker has synchronous_commit = off',
  );
  expect(of('autovacuum is off')?.detail).toBe(
    'autovacuum is off, for tock.maintenance_jobs, track_counts is off',
  );
  expect(of('connections run out')?.detail).toMatch(/^\d of 7 are in use, \d of them by tock$/);
  expect(of('the role tock_edge has no time limit')?.detail).toBe('statement_timeout');
  if (await hasCron()) {
    expect(of('pg_cron may run too few jobs at once')).toBeUndefined();
    expect(of('pg_cron works in another database')?.detail).toContain('in postgres,');
  }
  await superuser.query('grant pg_read_all_settings to tock');
  if (await hasCron()) {
    expect(
      (await named()).filter((name) => name === 'pg_cron may run too few jobs at once'),
    ).toHaveLength(1);
  }
  const launching = (await part('cron()')).map(({ finding, severity }) => [finding, severity]);
  const unlaunched = [
    ['pg_cron launches no jobs', 'critical'],
    ['pg_cron uses another time zone', 'note'],
  ];
  if (modern) expect(launching).toEqual(expect.arrayContaining(unlaunched));
  await client.query("set neon.timeline_id = 'x'");
  expect((await part('settings()')).map(({ finding }) => finding)).not.toContain(
    'a setting loses tasks in a crash',
  );
  for (const { hint } of wrong.filter(({ finding }) => /crash|autovacuum|edge/.test(finding))) {
    for (const statement of hint.split('; ')) await superuser.query(statement);
  }
  // Until now a setting for all roles hid this setting of the server.
  await anew();
  expect((await part('settings()')).map(({ detail }) => detail)).toEqual([
    expect.stringContaining('synchronous_commit is off'),
  ]);
  await restart(Object.fromEntries(Object.keys(harmful).map((name) => [name, null])));
  expect(await named()).toEqual([]);
  expect(await part('vacuum(10)')).toMatchObject([{ finding: 'transaction ids run out' }]);
});
