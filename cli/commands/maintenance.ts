import type { Command } from 'commander';
import type { Answer } from '../../client/wire.ts';
import { withApi } from '../api.ts';
import { note, optionsOf, print } from '../output.ts';
import { moment, span, table } from '../table.ts';

type Maintenance = Answer<'GET /v1/maintenance'>;

const seconds = (n: number | null) => (n === null ? null : span(n));

function describeJobs({ maintenance_jobs, jobs }: Maintenance): string {
  const rows = maintenance_jobs.map((job) => [
    job.name,
    span(job.every_seconds),
    moment(job.last_ok_at),
    job.late_seconds ? seconds(job.late_seconds) : 'no',
    job.last_amount,
    job.last_seconds === null ? null : `${job.last_seconds.toFixed(3)} s`,
    job.last_error,
  ]);
  const all = table([['job', 'every', 'last done', 'late', 'amount', 'took', 'error'], ...rows]);
  if (jobs.length === 0) return all;
  const jobRows = jobs.map((job) => [job.jobname, job.schedule, job.active, job.last_status]);
  return `${all}\n${table([['pg_cron job', 'schedule', 'active', 'last'], ...jobRows])}`;
}

const mebibytes = (n: number | null) => (n === null ? null : `${(n / 2 ** 20).toFixed(1)} MiB`);

function describeSegments({ segments }: Maintenance): string {
  const rows = segments.map((segment) => [
    segment.number,
    segment.state,
    moment(segment.started_at),
    moment(segment.closed_at),
    segment.runs,
    mebibytes(segment.bytes),
  ]);
  return table([['segment', 'state', 'started', 'closed', 'runs, about', 'size'], ...rows]);
}

export function addMaintenance(program: Command): void {
  for (const [name, description, describe] of [
    [
      'maintenance',
      'list maintenance jobs with their last results, and pg_cron jobs',
      describeJobs,
    ],
    ['segments', 'list the segments of the task history with their sizes', describeSegments],
  ] as const) {
    program
      .command(name)
      .description(description)
      .action(async (_options, command: Command) => {
        const options = optionsOf(command);
        const answer = await withApi(options, (api) => api.call('GET /v1/maintenance'));
        const { maintenance_jobs, jobs, segments } = answer;
        print(options, name === 'maintenance' ? { maintenance_jobs, jobs } : { segments }, () =>
          describe(answer),
        );
        const noJobs = name === 'maintenance' && jobs.length === 0;
        note(options, noJobs && 'No pg_cron job of Tock is visible here.');
      });
  }
}
