import type { Command } from 'commander';
import type { Answer } from '../../client/wire.ts';
import { Failure } from '../../migrate/failure.ts';
import { withApi } from '../api.ts';
import { whole } from '../given.ts';
import { note, type Options, optionsOf, print } from '../output.ts';
import { moment, span, table } from '../table.ts';
import { described } from './doctor.ts';

type LeasePage = Answer<'GET /v1/leases'>;
type Lease = LeasePage['leases'][number];
type Internals = Answer<'GET /v1/maintenance'>;

const mostInAPage = 1000;

function leaseRow(lease: Lease) {
  const { queue, worker, claimed_at, leased_until, late, runs, unfinished, tasks } = lease;
  const some = tasks.slice(0, 3).join(' ') + (unfinished > 3 ? ' …' : '');
  const until = `${moment(leased_until)}${late ? ' late' : ''}`;
  return [queue, worker, moment(claimed_at), until, runs, unfinished, some];
}

async function leases(options: Options<{ queue?: string; worker?: string; limit: number }>) {
  const { queue, worker, limit } = options;
  const found: Lease[] = [];
  let cursor: string | null = null;
  await withApi(options, async (api) => {
    do {
      const query = { queue, worker, cursor, limit: Math.min(mostInAPage, limit - found.length) };
      const page: LeasePage = await api.call('GET /v1/leases', { query });
      found.push(...page.leases);
      cursor = page.cursor;
    } while (cursor !== null && found.length < limit);
  });
  const heading = ['queue', 'worker', 'since', 'until', 'runs', 'unfinished', 'tasks'];
  print(options, { leases: found, cursor }, () => table([heading, ...found.map(leaseRow)]));
  note(options, found.length === 0 && 'Nobody runs anything.');
}

const seconds = (n: number | null) => (n === null ? null : span(n));

function describeJobs({ maintenance_jobs, jobs }: Internals): string {
  const rows = maintenance_jobs.map((maintenance_job) => [
    maintenance_job.name,
    span(maintenance_job.every_seconds),
    moment(maintenance_job.last_ok_at),
    maintenance_job.late_seconds ? seconds(maintenance_job.late_seconds) : 'no',
    maintenance_job.last_amount,
    maintenance_job.last_seconds === null ? null : `${maintenance_job.last_seconds.toFixed(3)} s`,
    maintenance_job.last_error,
  ]);
  const all = table([['job', 'every', 'last done', 'late', 'amount', 'took', 'error'], ...rows]);
  if (jobs.length === 0) return all;
  const jobRows = jobs.map((job) => [job.jobname, job.schedule, job.active, job.last_status]);
  return `${all}\n${table([['job of pg_cron', 'schedule', 'active', 'last'], ...jobRows])}`;
}

const mebibytes = (n: number | null) => (n === null ? null : `${(n / 2 ** 20).toFixed(1)} MiB`);

function describeSegments({ segments }: Internals): string {
  const rows = segments.map((one) => [
    one.number,
    one.state,
    moment(one.started_at),
    moment(one.closed_at),
    one.runs,
    mebibytes(one.bytes),
  ]);
  return table([['segment', 'state', 'started', 'settled', 'runs, about', 'size'], ...rows]);
}

async function why(queue: string, options: Options) {
  const { reasons } = await withApi(options, (api) =>
    api.call('GET /v1/queues/{queue}/why', { path: { queue } }),
  );
  print(options, { reasons }, () =>
    reasons.length === 0 ? `Nothing holds ${queue} up.\n` : reasons.map(described).join(''),
  );
}

async function whoami(options: Options) {
  const key = await withApi(options, (api) => {
    if (!api.isLocal) return api.call('GET /v1/key');
    const next = 'Give --url and --key; in SQL you are the role you connect as.';
    throw new Failure('whoami is of a key, and this goes to the database.', next, 2);
  });
  const list = (some: string[] | null) => some?.join(', ') ?? 'all';
  print(options, key, () =>
    table([
      ['key', 'name', 'may', 'queues', 'tenants', 'ends'],
      [
        key.prefix,
        key.name,
        key.scopes.join(', '),
        list(key.queues),
        list(key.tenants),
        moment(key.expires_at),
      ],
    ]),
  );
}

export function addLooks(program: Command): void {
  program
    .command('leases')
    .description('who runs what, the lease that ends first at the top')
    .option('--queue <queue>', 'of one queue')
    .option('--worker <worker>', 'of one worker')
    .option('--limit <count>', 'so many at most', whole(1, 100_000), 100)
    .action((_given, command: Command) => leases(optionsOf(command)));
  for (const [name, what, describe] of [
    ['maintenance', "what time must do, how it went last, and pg_cron's jobs", describeJobs],
    ['segments', 'the parts that history is kept in, and how large each is', describeSegments],
  ] as const) {
    program
      .command(name)
      .description(what)
      .action(async (_given, command: Command) => {
        const options = optionsOf(command);
        const all = await withApi(options, (api) => api.call('GET /v1/maintenance'));
        const { maintenance_jobs, jobs, segments } = all;
        print(options, name === 'maintenance' ? { maintenance_jobs, jobs } : { segments }, () =>
          describe(all),
        );
        const none = name === 'maintenance' && jobs.length === 0;
        note(options, none && "pg_cron has no job of Tock's that can be seen here.");
      });
  }
  program
    .command('why <queue>')
    .description('why tasks of a queue are late at this moment, and what to do about it')
    .action((queue: string, _given, command: Command) => why(queue, optionsOf(command)));
  program
    .command('whoami')
    .description('what the key may')
    .action((_given, command: Command) => whoami(optionsOf(command)));
}
