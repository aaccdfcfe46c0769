import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type pg from 'pg';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { checkout } from '../../scripts/stack/paths.ts';
import { cronDatabase, type Database, stackInfo } from '../database.ts';
import { expectInvariants } from '../sql/invariants.ts';
import {
  claim,
  enqueue,
  leaseOf,
  makeMaintenanceDue,
  numberedTasks,
  rows,
  task,
  value,
  waitUntil,
} from '../sql/verbs.ts';

const { cron, name } = stackInfo();

let db: Database;
let client: pg.Client;

beforeAll(async () => {
  if (!cron) return;
  db = await cronDatabase();
  client = await db.connect();
});

beforeEach(({ skip }) => skip(!cron, `${name} has no pg_cron in the database tock_cron`));

afterAll(() => db?.drop());

type Job = { jobname: string; schedule: string; command: string; active: boolean };
type Detail = { jobname: string; status: string; return_message: string };

/**
 * True if pg_cron accepts schedules in seconds, from version 1.5 on. Before, jobs of every 5 seconds run once a
 * minute.
 */
async function bySeconds(): Promise<boolean> {
  const version = "select extversion from pg_extension where extname = 'pg_cron'";
  const [major = 0, minor = 0] = (await value<string>(client, version)).split('.').map(Number);
  return major > 1 || minor >= 5;
}

test('exactly the jobs in sql/cron are scheduled', async () => {
  const folder = join(process.env.TOCK_SQL_DIRECTORY ?? join(checkout, 'sql'), 'cron');
  const text = readdirSync(folder).map((file) => readFileSync(join(folder, file), 'utf8'));
  const declared = [...text.join('').matchAll(/cron\.schedule\('(tock:\w+)'/g)].map(
    ([, job]) => job,
  );
  const jobs = await rows<Job>(client, "select * from cron.job where jobname like 'tock:%'");
  expect(jobs.map((job) => job.jobname).sort()).toEqual(declared.sort());
  for (const job of jobs) {
    expect(job.active).toBe(true);
    expect(job.command).toMatch(/^select tock\.\w+\(('\w+')?\)$/);
  }
});

test('a job of every few seconds has a schedule in seconds, or in minutes if pg_cron has no seconds', async () => {
  const often = await rows<Job>(
    client,
    "select * from cron.job where jobname in ('tock:tick', 'tock:reap') order by jobname",
  );
  const schedules = often.map((job) => job.schedule);
  const direct = () => client.query("select cron.schedule('seconds', '5 seconds', 'select 1')");
  if (await bySeconds()) {
    expect(schedules).toEqual(['10 seconds', '5 seconds']);
    await direct();
    await client.query("select cron.unschedule('seconds')");
  } else {
    expect(schedules).toEqual(['* * * * *', '* * * * *']);
    await expect(direct()).rejects.toThrow('invalid schedule');
  }
});

// If pg_cron runs jobs by the minute, one wait must be enough for all. So the test prepares everything first.
test('pg_cron alone promotes, reaps, puts streams to rest, creates segments and prunes', async () => {
  const admin = await db.connect(db.superUrl);
  // This session runs deactivate_streams and stays open, so no second copy of that job may run meanwhile.
  const resting = await db.connect();
  await resting.query('begin');
  await waitUntil('no other session runs deactivate_streams', () =>
    value(resting, "select tock.run_maintenance('deactivate_streams') is not null"),
  );
  const rested = 'select last_ok_at from tock.maintenance_jobs where name = $1';
  const before = await value(client, rested, ['deactivate_streams']);

  const queue = `cron-${await value(client, "select nextval('tock.positions')")}`;
  const [late] = await enqueue(client, queue, [{ payload: 'late', delay_seconds: 1 }]);
  const ids = await enqueue(client, queue, numberedTasks(3));
  const lease = leaseOf(await claim(client, queue, { limit: 3, lease_seconds: 1, worker: 'gone' }));
  await enqueue(client, queue, [], 'forgotten');
  await client.query(
    `insert into tock.requests (verb, queue, request_id, digest, ids, created_at)
       values ('enqueue', $1, 'old', 0, '{}', now() - interval '2 days')`,
    [queue],
  );
  await admin.query(
    `insert into cron.job_run_details (jobid, runid, database, username, command, status, start_time, end_time)
       select 0, nextval('cron.runid_seq'), current_database(), name, 'select tock.tick()', 'succeeded',
         now() - age, now() - age
       from (values ('tock', interval '2 days'), ('tock', interval '1 hour'), ('postgres', interval '2 days')) v(name, age)`,
  );
  // create_segments has to create the next segment soon.
  const segments = await value<number>(client, 'select max(number) from tock.segments');
  await client.query(
    `select setval('tock.positions', greatest(last_value, (select max(first_position) - 1 from tock.segments)))
       from tock.positions`,
  );

  // This comes last: before, a tick could run the jobs while they have nothing to do.
  await makeMaintenanceDue(client);

  const promoted = await waitUntil('the delayed task and the lost ones are ready', async () => {
    const lateTask = await task(client, late as string);
    const back = await task(client, ids[2] as string);
    return lateTask?.state === 'ready' && back?.state === 'ready' && lateTask;
  });
  expect(promoted.payload).toBe('late');
  expect(await task(client, ids[0] as string)).toMatchObject({
    lost: 1,
    runs: [{ state: 'lost', worker: 'gone' }, { state: 'ready' }],
  });
  expect((await rows(client, 'select * from tock.complete($1)', [lease])).length).toBe(0);

  const done = await waitUntil(
    'each maintenance job except the one that runs elsewhere is recorded',
    async () => {
      const all = await rows<{ last_ok_at: Date | null; last_error: string | null }>(
        client,
        "select last_ok_at, last_error from tock.maintenance_jobs where name <> 'deactivate_streams'",
      );
      return all.every((maintenance_job) => maintenance_job.last_ok_at) && all;
    },
  );
  expect(done.filter((maintenance_job) => maintenance_job.last_error !== null)).toEqual([]);
  expect(await value(client, rested, ['deactivate_streams'])).toEqual(before);
  await resting.query('commit');

  expect(await value(client, 'select max(number) from tock.segments')).toBeGreaterThan(segments);
  const kept = await rows(
    admin,
    `select username, now() - end_time > interval '1 day' as old from cron.job_run_details
       where jobid = 0 order by 1, 2`,
  );
  expect(kept).toEqual([
    { username: 'postgres', old: true },
    { username: 'tock', old: false },
  ]);
  const left = await rows(client, 'select request_id from tock.requests where queue = $1', [queue]);
  expect(left.map((row) => row.request_id)).not.toContain('old');

  // A first tick may have done all of it, so the test also waits for the other job to run.
  const details = await waitUntil('the jobs of every few seconds have run', async () => {
    const all = await rows<Detail>(
      client,
      `select j.jobname, d.status, d.return_message from cron.job_run_details d join cron.job j using (jobid)
       where j.jobname like 'tock:%' and d.status not in ('running', 'starting')`,
    );
    const ran = (job: string) => all.some(({ jobname }) => jobname === job);
    return ran('tock:tick') && ran('tock:reap') && all;
  });
  expect(details.filter((row) => row.status !== 'succeeded')).toEqual([]);
  await admin.query('delete from cron.job_run_details where jobid = 0');
  await expectInvariants(client);
});
