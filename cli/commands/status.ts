import { setTimeout as pause } from 'node:timers/promises';
import type { Command } from 'commander';
import type { Answer } from '../../client/wire.ts';
import { Failure } from '../../migrate/failure.ts';
import { type Api, withDatabaseFirst } from '../api.ts';
import { whole } from '../given.ts';
import { type Options, optionsOf, print } from '../output.ts';
import { visible } from '../plain.ts';
import { span, table } from '../table.ts';

type QueueStats = Answer<'GET /v1/queues'>['queues'][number];
type MaintenanceJob = Answer<'GET /v1/maintenance'>['maintenance_jobs'][number];
type Segments = { current: number; ahead: number };

/** A key that is for some queues only sees no maintenance jobs and segments. */
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
  return rows.length > 0 ? table([heading, ...rows]) : 'No queues yet: tock enqueue makes one.\n';
}

function describeJobs(maintenance_jobs: MaintenanceJob[]): string {
  const rows = maintenance_jobs.map((maintenance_job) => {
    const { last_ok_at: at } = maintenance_job;
    const ago = at ? `${span((Date.now() - Date.parse(at)) / 1000)} ago` : 'never';
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
    return `${describeQueues(queues)}\nMaintenance jobs and segments are for keys of all queues.\n`;
  }
  const { current, ahead } = segments;
  return `${describeQueues(queues)}\n${describeJobs(maintenance_jobs)}\nSegment ${current}, ${ahead} ahead.\n`;
}

async function seen(api: Api): Promise<Status> {
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
  const all = await withDatabaseFirst(options, seen);
  print(options, all, () => describe(all));
}

const CLEAR = '\x1b[H\x1b[J';

/** How many more or fewer are ready than a look before. */
function drift(now: QueueStats[], before: QueueStats[] | null, seconds: number): string {
  if (!before) return '';
  const sum = (queues: QueueStats[]) => queues.reduce((all, { ready }) => all + ready, 0);
  const change = (sum(now) - sum(before)) / seconds;
  return `, ${change > 0 ? '+' : ''}${change.toFixed(1)} ready a second`;
}

/** Again and again, in place on a terminal; a look that fails is said, and the next one comes. */
async function watch(seconds: number, options: Options) {
  let before: QueueStats[] | null = null;
  const stop = new AbortController();
  process.once('SIGINT', () => stop.abort());
  while (!stop.signal.aborted) {
    try {
      const all = await withDatabaseFirst(options, seen);
      const head = `${new Date().toISOString().slice(0, 19)}Z, every ${seconds} s${drift(all.queues, before, seconds)}\n\n`;
      if (process.stdout.isTTY && !options.json) process.stdout.write(CLEAR);
      print(options, { at: new Date().toISOString(), ...all }, () => head + describe(all));
      before = all.queues;
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
    .description('queues and their depths, maintenance jobs and how late they are, segments ahead')
    .option(
      '--watch [seconds]',
      'again and again, every 2 seconds unless it is said, until Ctrl-C',
      whole(1, 3600),
    )
    .action((_given, command: Command) => {
      const options: Options<{ watch?: number | true }> = optionsOf(command);
      const { watch: every } = options;
      return every === undefined ? status(options) : watch(every === true ? 2 : every, options);
    });
}
