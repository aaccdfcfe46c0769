import { withClient } from '../stack/roles.ts';
import type { Run } from './check.ts';

// The second covers a delay: pg_cron records the start of a job shortly after the job has begun.
const question = `
  select j.jobname as job
  from unnest($1::timestamptz[]) e(ended_at)
  left join lateral (
    select c.jobname from cron.job_run_details d join cron.job c using (jobid)
    where c.jobname in ('tock:reap', 'tock:tick')
      and e.ended_at between d.start_time - interval '1 second' and coalesce(d.end_time, now())
    order by c.jobname limit 1) j on true`;

/** The pg_cron jobs that ran when these runs were marked as lost; null for runs that no job reaped. */
export async function findReapers(databaseUrl: string, lost: Run[]): Promise<(string | null)[]> {
  return withClient(databaseUrl, async (client) => {
    const { rows } = await client.query(question, [lost.map((run) => run.ended_at)]);
    return [...new Set(rows.map((row) => row.job as string | null))];
  });
}
