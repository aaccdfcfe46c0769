import { setTimeout as pause } from 'node:timers/promises';
import type { Command } from 'commander';
import type { Answer } from '../../client/wire.ts';
import { Failure } from '../../migrate/failure.ts';
import { type Api, withDatabasePreferred } from '../api.ts';
import { wholeNumber } from '../arguments.ts';
import { visible } from '../escape_control.ts';
import { type Options, optionsOf, print } from '../output.ts';
import { span, table } from '../table.ts';

type QueueStats = Answer<'GET /v1/queues'>['queues'][number];
type MaintenanceJob = Answer<'GET /v1/maintenance'>['maintenance_jobs'][number];
type Segments = { current: number; ahead: number };

/** A key limited to some queues sees no maintenance jobs and no segments. */
type Status = {
  queues: QueueStats[];
  maintenance_jobs: MaintenanceJob[] | null;
  segments: Segments | null;
};

function describeQueues(queues: QueueStats[]): string {
  const rows = queues.map((q) => {
    const since = q.oldest_ready_at && (Date.now() - Date.parse(q.oldest_ready_at)) / 1000;
    const oldest = since ? span(Math.max(0, since)) : null;
    return [q.name, q.ready, q.running, q.waiting, q.dead, oldest, q.paused ? 'paused' : ''];
  });
  const heading = ['queue', 'ready', 'running', 'waiting', 'dead', 'oldest ready', ''];
  return rows.length > 0 ? table([heading, ...rows]) : 'No queues yet: tock enqueue creates one.\n';
}

function describeJobs(maintenance_jobs: MaintenanceJob[]): string {
  const rows = maintenance_jobs.map((maintenance_job) => {
    const { last_ok_at: finishedAt } = maintenance_job;
    const ago = finishedAt ? `${span((Date.now() - Date.parse(finishedAt)) / 1000)} ago` : 'never';
    const late = maintenance_job.late_seconds ? span(maintenance_job.late_seconds) : 'no';
    return [
      maintenance_job.name,
      span(maintenance_job.every_seconds),
      ago,
      late,
      maintenance_job.last_amount,
      maintenance_job.last_error,
    ];
  });
  return table([['job', 'every', 'last done', 'late', 'amount', 'error'], ...rows]);
}

function describe({ queues, maintenance_jobs, segments }: Status): string {
  if (!maintenance_jobs || !segments) {
    return `${describeQueues(queues)}\nMaintenance jobs and segments need a key for all queues.\n`;
  }
  const { current, ahead } = segments;
  return `${describeQueues(queues)}\n${describeJobs(maintenance_jobs)}\nSegment ${current}, ${ahead} ahead.\n`;
}

async function readStatus(api: Api): Promise<Status> {
  const { queues } = await api.call('GET /v1/queues');
  const holders = await api.call('GET /v1/maintenance').catch((error) => {
    if (error instanceof Failure && error.exitCode === 1) return null;
    throw error;
  });
  if (!holders) return { queues, maintenance_jobs: null, segments: null };
  const current = Math.max(
    ...holders.segments.flatMap(({ number, state }) => (state === 'ahead' ? [] : [number])),
  );
  const ahead = holders.segments.filter(({ state }) => state === 'ahead').length;
  return { queues, maintenance_jobs: holders.maintenance_jobs, segments: { current, ahead } };
}

async function status(options: Options) {
  const all = await withDatabasePreferred(options, readStatus);
  print(options, all, () => describe(all));
}

const CLEAR = '\x1b[H\x1b[J';

/** The change in ready tasks since the previous poll. */
function drift(current: QueueStats[], previous: QueueStats[] | null, seconds: number): string {
  if (!previous) return '';
  const sum = (queues: QueueStats[]) => queues.reduce((all, { ready }) => all + ready, 0);
  const change = (sum(current) - sum(previous)) / seconds;
  return `, ${change > 0 ? '+' : ''}${change.toFixed(1)} ready a second`;
}

/** Shows the status repeatedly, in place on a terminal. After an error it prints the error and continues. */
async function watch(seconds: number, options: Options) {
  let previous: QueueStats[] | null = null;
  const stop = new AbortController();
  process.once('SIGINT', () => stop.abort());
  while (!stop.signal.aborted) {
    try {
      const all = await withDatabasePreferred(options, readStatus);
      const head = `${new Date().toISOString().slice(0, 19)}Z, every ${seconds} s${drift(all.queues, previous, seconds)}\n\n`;
      if (process.stdout.isTTY && !options.json) process.stdout.write(CLEAR);
      print(options, { at: new Date().toISOString(), ...all }, () => head + describe(all));
      previous = all.queues;
    } catch (error) {
      if (!(error instanceof Failure) || error.exitCode !== 4) throw error;
      process.stderr.write(visible(`${error.message}\n`));
    }
    await pause(seconds * 1000, undefined, { signal: stop.signal }).catch(() => {});
  }
}

export function addStatus(program: Command): void {
  program
    .command('status')
    .description(
      'show queues with their depths, maintenance jobs with their delays, and the number of segments ahead',
    )
    .option(
      '--watch [seconds]',
      'repeat every 2 seconds, or at the given interval, until Ctrl-C',
      wholeNumber(1, 3600),
    )
    .action((_options, command: Command) => {
      const options: Options<{ watch?: number | true }> = optionsOf(command);
      const { watch: interval } = options;
      return interval === undefined
        ? status(options)
        : watch(interval === true ? 2 : interval, options);
    });
}
