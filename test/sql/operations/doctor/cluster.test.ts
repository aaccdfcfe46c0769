import type pg from 'pg';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { pooling } from '../../../../cli/diagnosis.ts';
import { migrate } from '../../../../migrate/migrate.ts';
import { type OwnCluster, ownCluster } from '../../../database.ts';
import { rows, value, waitUntil } from '../../verbs.ts';
import { expectFindings, type Finding } from '../findings.ts';

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
const expectPart = async (call: string, ...patterns: RegExp[]) =>
  expectFindings(await part(call), ...patterns);

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
const reload = async (setting: string) => {
  await superuser.query(`alter system ${setting}`);
  await superuser.query('select pg_reload_conf()');
};

test('a healthy cluster has no finding', async () => {
  expect(await named()).toEqual([]);
});

test('an unused replication slot is found, and one whose WAL is lost', async () => {
  await superuser.query("select pg_create_physical_replication_slot('left', true)");
  expectFindings(
    await findings(),
    /: a replication slot has no reader: left \(physical\) keeps \d+ \w+ of the log => .*slot\('left'\)/,
  );
  await reload("set max_slot_wal_keep_size = '1MB'");
  await waitUntil('the log is gone', async () => {
    await superuser.query('create table wal as select 1; drop table wal');
    await superuser.query('select pg_switch_wal()');
    await superuser.query('checkpoint');
    return (await named()).join() === 'a replication slot has lost its log';
  });
  await superuser.query("select pg_drop_replication_slot('left')");
  await reload('reset max_slot_wal_keep_size');
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
  const open = await part("sessions('0 s')");
  expectFindings(
    open,
    /: a transaction has been open for long: process \d+ \(tock as report from 127.0.0.1\), idle in transaction since 20.*, since 20/,
  );
  expect(open[0]?.detail).not.toContain('secret');
  await superuser.query(open[0]?.hint.match(/select [^:]+/)?.[0] as string);
  await waitUntil('it is over', async () => (await part("sessions('0 s')")).length === 0);
  await client.query("begin; create table held (a integer); prepare transaction 'it''s held'");
  const prepared = await part("sessions('0 s')");
  expectFindings(
    prepared,
    /: a prepared transaction has been open for long: it's held \(tock\), since 20/,
  );
  await client.query(prepared[0]?.hint.match(/rollback prepared '.*'/)?.[0] as string);
  expect(await part("sessions('0 s')")).toEqual([]);
});

test('the transaction that blocks vacuum longest is found: a session of any role, or a prepared transaction', async () => {
  await withoutJobs();
  const holder = await cluster.connect(cluster.superUrl);
  await holder.query('begin isolation level repeatable read; select from tock.queues limit 1');
  for (let n = 0; n < 20; n++) await client.query('select pg_current_xact_id()');
  expect(await part('horizon()')).toEqual([]);
  await expectPart(
    'horizon(15)',
    /: vacuum is held back: process \d+ \(postgres\), .* \d\d transactions => /,
  );
  await holder.query('commit');
  expect(await part('horizon(15)')).toEqual([]);
  await client.query("begin; create table held (a integer); prepare transaction 'held'");
  for (let n = 0; n < 20; n++) await client.query('select pg_current_xact_id()');
  await expectPart('horizon(15)', /: the prepared transaction held of tock,/);
  await client.query("rollback prepared 'held'");
  expect(await part('horizon(15)')).toEqual([]);
});

test('wrong and surplus pg_cron jobs are found, and the hints repair them', async ({ skip }) => {
  skip(!(await hasCron()), 'no pg_cron here');
  for (const [job, wrong] of Object.entries({
    reap: 'active = false',
    create_segments: "command = 'select 1'",
    verify_segments: "database = 'postgres'",
    tick: "schedule = '@hourly'",
  }))
    await superuser.query(`update cron.job set ${wrong} where jobname = 'tock:${job}'`);
  await client.query("select cron.unschedule('tock:prune')");
  await client.query("select cron.schedule('mine', '0 0 1 1 *', 'select tock.tick();')");
  await client.query("select cron.schedule('tock:old', '0 0 1 1 *', 'select 1')");
  const found = await findings();
  const detail = [
    'create_segments calls something else',
    'prune is missing',
    'reap is switched off',
    'tick runs by @hourly',
    'verify_segments runs in database postgres',
  ].join(', tock:');
  expectFindings(
    found,
    `^critical: a job of pg_cron is wrong: tock:${detail} => `,
    /: pg_cron has an extra job: .*\(mine of tock: select tock.tick\(\);\), \d+ \(tock:old of tock/,
  );
  // Surplus jobs delay no task, so why() does not name them.
  await client.query("select tock.put_queue('q', '{}')");
  const why = await rows<Finding>(client, "select * from tock.why('q')");
  expect(why.map(({ finding }) => finding)).toEqual(['a job of pg_cron is wrong']);
  const listed = await rows(client, 'select * from tock.cron_jobs_list()');
  const job = (jobname: string) => listed.find((row) => row.jobname === jobname);
  expect(job('tock:reap')).toMatchObject({ active: false });
  expect(job('tock:tick')).toMatchObject({ schedule: '@hourly' });
  expect(job('mine')).toBeUndefined();
  for (const { hint } of found) await client.query(hint.replace(/; then tock migrate.*$/, ''));
  await migrate(cluster.url, { directory: process.env.TOCK_SQL_DIRECTORY });
  expect(await named()).toEqual([]);
});

test('a server that has just started gives pg_cron time to start', async ({ skip }) => {
  skip(!(await hasCron()), 'no pg_cron here');
  await client.query("update tock.migrations set applied_at = now() - interval '8 days'");
  // prune is late, but since the start of the server pg_cron has not had the time to run it.
  await client.query(
    "update tock.maintenance_jobs set last_ok_at = now() - interval '7 days' where name = 'prune'",
  );
  expect(await part('maintenance()')).toEqual([]);
});

test('a pg_cron without schedules in seconds is found', async ({ skip }) => {
  skip(!(await hasCron()), 'no pg_cron here');
  const version = "update pg_extension set extversion = $1 where extname = 'pg_cron'";
  const is = await value(client, "select extversion from pg_extension where extname = 'pg_cron'");
  await superuser.query(version, ['1.4-1']);
  await expectPart('cron()', /^note: pg_cron has no intervals in seconds: .*1\.4-1.* => /);
  await superuser.query(version, ['1.6']);
  expect(await part('cron()')).toEqual([]);
  await superuser.query(version, [is]);
});

test('a failed pg_cron job is found, and records that nothing deletes', async ({ skip }) => {
  skip(!(await hasCron()), 'no pg_cron here');
  const note = (status: string, message: string) =>
    superuser.query(
      `insert into cron.job_run_details (jobid, runid, database, username, command, status, return_message)
       select jobid, nextval('cron.runid_seq'), database, username, command, $1, $2 from cron.job where jobname = 'tock:prune'`,
      [status, message],
    );
  await note('failed', 'connection failed');
  expectFindings(
    await findings(),
    /: pg_cron cannot run its jobs: tock:prune: connection failed => .*use_background_workers/,
  );
  await note('succeeded', '1 row');
  expect(await named()).toEqual([]);
  // At its start pg_cron writes this record for each job that was running when the server ended.
  await note('failed', 'server restarted');
  expect(await named()).toEqual([]);
  await expectPart('cron_notes(1000)', /: the run details of pg_cron grow: /);
});

test('a missing pg_cron launcher is found', async ({ skip }) => {
  skip(!(await hasCron()), 'no pg_cron here');
  await superuser.query(
    "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'pg_cron scheduler'",
  );
  await waitUntil('it is missed', async () => (await named()).includes('pg_cron does not run'));
  const first = (await findings()).slice(0, 1);
  expectFindings(first, /^critical: .*: its launcher has ended => .*restart/);
});

const off = 'fsync full_page_writes synchronous_commit autovacuum track_counts'.split(' ');
const harmful: Record<string, string> = {
  ...Object.fromEntries(off.map((setting) => [setting, 'off'])),
  ...{ max_connections: '10', max_worker_processes: '3' },
};

test('the mode of a pooler is a finding unless it is transaction mode', async ({ skip }) => {
  const { poolUrl } = cluster;
  if (!poolUrl) return skip('no PgBouncer here');
  expect(await pooling(cluster.url)).toEqual([]);
  expect(await pooling(poolUrl)).toEqual([]);
  await cluster.pool({ settings: { server_round_robin: 1, min_pool_size: 2 } });
  expect(await pooling(poolUrl)).toEqual([]);
  await cluster.pool({ mode: 'session' });
  expectFindings(await pooling(poolUrl), /^warning: the pooler is in session mode: /);
  expectFindings(await pooling(poolUrl, false), /^note: the pooler is in session mode: /);
  await cluster.pool({ mode: 'statement' });
  expectFindings(await pooling(poolUrl), /^critical: the pooler is in statement mode: /);
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
  const detail = (of: string) => wrong.find(({ finding }) => finding === of)?.detail;
  const crash = wrong.filter(({ finding }) => finding === 'a setting loses tasks in a crash');
  expectFindings(crash, /^critical: .*: fsync is off, full_page_writes is off => /);
  const roles = /^every role has .* = off, role tock_worker has synchronous_commit = off$/;
  expect(detail('a role loses tasks in a crash')).toMatch(roles);
  const vacuum = 'autovacuum is off, for tock.maintenance_jobs, track_counts is off';
  expect(detail('autovacuum is off')).toBe(vacuum);
  expect(detail('connections run out')).toMatch(/^\d of 7 are in use, \d of them by tock$/);
  expect(detail('the role tock_edge has no time limit')).toBe('statement_timeout');
  const fewJobs = 'pg_cron may run too few jobs at once';
  if (await hasCron()) {
    expect(detail(fewJobs)).toBeUndefined();
    expect(detail('pg_cron works in another database')).toContain('in postgres,');
  }
  await superuser.query('grant pg_read_all_settings to tock');
  if (await hasCron()) expect(await named()).toContain(fewJobs);
  const launching = (await part('cron()')).map(({ finding, severity }) => [finding, severity]);
  const unlaunched = [
    ['pg_cron launches no jobs', 'critical'],
    ['pg_cron uses another time zone', 'note'],
  ];
  if (modern) expect(launching).toEqual(expect.arrayContaining(unlaunched));
  await client.query("set neon.timeline_id = 'x'");
  const settings = (await part('settings()')).map(({ finding }) => finding);
  expect(settings).not.toContain('a setting loses tasks in a crash');
  for (const { hint } of wrong.filter(({ finding }) => /crash|autovacuum|edge/.test(finding))) {
    for (const statement of hint.split('; ')) await superuser.query(statement);
  }
  // Until now a setting for all roles hid this setting of the server.
  await anew();
  await expectPart('settings()', /synchronous_commit is off.* => /);
  await restart(Object.fromEntries(Object.keys(harmful).map((name) => [name, null])));
  expect(await named()).toEqual([]);
  await expectPart('vacuum(10)', /: transaction ids run out: /);
});
