import type pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { cronDatabase, type Database, stackInfo } from '../database.ts';
import { expectWhole } from '../sql/audit.ts';
import { claim, enqueue, leaseOf, numbered, rows, task, until, value } from '../sql/support.ts';

const without = !stackInfo().cron;

let db: Database;
let client: pg.Client;

beforeAll(async () => {
  if (without) return;
  db = await cronDatabase();
  client = await db.connect();
}, 200_000);

afterAll(() => db?.drop());

type Detail = { jobname: string; status: string; return_message: string };

// pg_cron 1.4 starts each job once a minute: all is prepared first, then there is one wait.
test.skipIf(without)(
  'with nothing else running, pg_cron promotes, reaps, rests, makes epochs and tidies',
  async () => {
    const admin = await db.connect(db.superUrl);
    // Another session rests, and stays open: no second copy of that duty may run meanwhile.
    const resting = await db.connect();
    await client.query('update tock.duties set last_started_at = null, last_ok_at = null');
    await resting.query('begin');
    await resting.query("select tock.run_duty('rest')");

    const queue = `cron-${await value(client, "select nextval('tock.positions')")}`;
    const [late] = await enqueue(client, queue, [{ payload: 'late', delay_seconds: 1 }]);
    const ids = await enqueue(client, queue, numbered(3));
    const lease = leaseOf(
      await claim(client, queue, { limit: 3, lease_seconds: 1, worker: 'gone' }),
    );
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
    // The next epoch is due to be made.
    const epochs = await value<number>(client, 'select max(number) from tock.epochs');
    await client.query(
      `select setval('tock.positions', greatest(last_value, (select max(first_position) - 1 from tock.epochs)))
       from tock.positions`,
    );

    const promoted = await until(
      'the delayed task is ready and the lost ones are back',
      async () => {
        const found = await task(client, late as string);
        const back = await task(client, ids[2] as string);
        return found?.state === 'ready' && back?.state === 'ready' && found;
      },
      110,
    );
    expect(promoted.payload).toBe('late');
    expect(await task(client, ids[0] as string)).toMatchObject({
      lost: 1,
      runs: [{ state: 'lost', worker: 'gone' }, { state: 'ready' }],
    });
    expect((await rows(client, 'select * from tock.complete($1)', [lease])).length).toBe(0);

    const done = await until(
      'each duty but the one at work elsewhere is recorded',
      async () => {
        const all = await rows<{
          name: string;
          last_ok_at: Date | null;
          last_error: string | null;
          last_seconds: number;
        }>(
          client,
          'select name, last_ok_at, last_error, last_seconds from tock.duties order by name',
        );
        return all.filter((duty) => duty.last_ok_at).length === 4 && all;
      },
      70,
    );
    expect(done.map((duty) => [duty.name, duty.last_ok_at !== null, duty.last_error])).toEqual([
      ['promote', true, null],
      ['reap', true, null],
      ['rest', false, null],
      ['rotate', true, null],
      ['tidy', true, null],
    ]);
    await resting.query('commit');

    expect(await value(client, 'select max(number) from tock.epochs')).toBeGreaterThan(epochs);
    const kept = await rows(
      admin,
      `select username, now() - end_time > interval '1 day' as old from cron.job_run_details
       where jobid = 0 order by 1, 2`,
    );
    expect(kept).toEqual([
      { username: 'postgres', old: true },
      { username: 'tock', old: false },
    ]);
    const left = await rows(client, 'select request_id from tock.requests where queue = $1', [
      queue,
    ]);
    expect(left.map((row) => row.request_id)).not.toContain('old');

    const details = await rows<Detail>(
      client,
      `select j.jobname, d.status, d.return_message from cron.job_run_details d join cron.job j using (jobid)
       where j.jobname like 'tock:%' and d.status not in ('running', 'starting')`,
    );
    // With schedules by seconds (pg_cron 1.5) tick may have made the epochs before rotate's minute came.
    const ran = new Set(details.map((row) => row.jobname));
    expect([...ran]).toEqual(expect.arrayContaining(['tock:tick', 'tock:reap']));
    expect(details.filter((row) => row.status !== 'succeeded')).toEqual([]);
    await admin.query('delete from cron.job_run_details where jobid = 0');
    await expectWhole(client);
  },
  200_000,
);

test.skipIf(without)('the jobs of the files are scheduled, and no other of ours', async () => {
  const jobs = await rows<{ jobname: string; command: string; active: boolean }>(
    client,
    "select jobname, command, active from cron.job where jobname like 'tock:%' order by 1",
  );
  expect(jobs.map((job) => job.jobname)).toEqual([
    'tock:reap',
    'tock:rotate',
    'tock:tick',
    'tock:tidy',
  ]);
  for (const job of jobs) {
    expect(job.active).toBe(true);
    expect(job.command).toMatch(/^select tock\.\w+\(('\w+')?\)$/);
  }
});
