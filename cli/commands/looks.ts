import type { Command } from 'commander';
import type { Answer, Query } from '../../client/wire.ts';
import { mustHave, withApi } from '../api.ts';
import { Failure } from '../failure.ts';
import { whole } from '../given.ts';
import { note, type Options, optionsOf, print } from '../output.ts';
import { moment, span, table } from '../table.ts';
import { described } from './doctor.ts';

type FoundPage = Answer<'GET /v1/search'>;
type Found = FoundPage['tasks'][number];
type LeasePage = Answer<'GET /v1/leases'>;
type Lease = LeasePage['leases'][number];
type Internals = Answer<'GET /v1/duties'>;
type Filter = Omit<Query<'GET /v1/search'>, 'unique_key' | 'limit'>;
type Searching = Filter & { uniqueKey?: string; limit: number };

/** One call looks at some thousand rows; that many calls are made before one asks again. */
const mostCalls = 200;
const mostInAPage = 1000;

const heading = ['task', 'queue', 'state', 'tenant', 'attempt', 'worker', 'at', 'error'];

function foundRow({ id, queue, state, tenant, attempt, worker, error, ...at }: Found) {
  const when = moment(at.ended_at ?? at.run_at ?? at.created_at);
  return [id, queue, state, tenant, attempt, worker, when, error];
}

async function search(options: Options<Searching>) {
  const { queue, state, tenant, error, worker, from, to, uniqueKey, gate, limit } = options;
  const filter = { queue, state, tenant, error, worker, from, to, unique_key: uniqueKey, gate };
  const tasks: Found[] = [];
  let cursor: string | null = null;
  let calls = 0;
  await withApi(options, async (api) => {
    do {
      const most = Math.min(mostInAPage, limit - tasks.length);
      const query = { ...filter, cursor, limit: most };
      const page: FoundPage = await api.call('GET /v1/search', { query });
      tasks.push(...page.tasks);
      cursor = page.cursor;
      calls++;
    } while (cursor !== null && tasks.length < limit && calls < mostCalls);
    if (queue && tasks.length === 0) await mustHave(api, queue);
  });
  print(options, { tasks, cursor }, () => table([heading, ...tasks.map(foundRow)]));
  note(options, cursor === null && tasks.length === 0 && 'No such tasks.');
  const more = `There may be more: --limit ${limit * 10}, or a narrower search.`;
  note(options, cursor !== null && more);
}

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

function describeDuties({ duties, jobs }: Internals): string {
  const rows = duties.map((duty) => [
    duty.name,
    span(duty.every_seconds),
    moment(duty.last_ok_at),
    duty.late_seconds ? seconds(duty.late_seconds) : 'no',
    duty.last_amount,
    duty.last_seconds === null ? null : `${duty.last_seconds.toFixed(3)} s`,
    duty.last_error,
  ]);
  const all = table([['duty', 'every', 'last done', 'late', 'amount', 'took', 'error'], ...rows]);
  if (jobs.length === 0) return all;
  const jobRows = jobs.map((job) => [job.jobname, job.schedule, job.active, job.last_status]);
  return `${all}\n${table([['job of pg_cron', 'schedule', 'active', 'last'], ...jobRows])}`;
}

const mebibytes = (n: number | null) => (n === null ? null : `${(n / 2 ** 20).toFixed(1)} MiB`);

function describeEpochs({ epochs }: Internals): string {
  const rows = epochs.map((one) => [
    one.number,
    one.state,
    moment(one.started_at),
    moment(one.settled_at),
    one.runs,
    mebibytes(one.bytes),
  ]);
  return table([['epoch', 'state', 'started', 'settled', 'runs, about', 'size'], ...rows]);
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
    .command('search')
    .description('tasks of any queue, the newest run first')
    .option('--queue <queue>', 'of one queue')
    .option('--state <state>', 'waiting, ready, running, done, dead, cancelled or expired')
    .option('--tenant <tenant>', 'whose tasks')
    .option('--worker <worker>', 'who ran them last')
    .option('--error <text>', 'dead ones whose error says so, as tock dead shows it')
    .option('--from <instant>', 'made then or later, like 2030-01-31T09:00:00Z')
    .option('--to <instant>', 'made before that')
    .option('--unique-key <key>', 'the one that had this key last; needs --queue')
    .option('--gate <gate>', 'who is inside a gate, then its line; needs --queue')
    .option('--limit <count>', 'so many at most', whole(1, 1_000_000), 100)
    .action((_given, command: Command) => search(optionsOf(command)));
  program
    .command('leases')
    .description('who runs what, the lease that ends first at the top')
    .option('--queue <queue>', 'of one queue')
    .option('--worker <worker>', 'of one worker')
    .option('--limit <count>', 'so many at most', whole(1, 100_000), 100)
    .action((_given, command: Command) => leases(optionsOf(command)));
  for (const [name, what, describe] of [
    ['duties', "what time must do, how it went last, and pg_cron's jobs", describeDuties],
    ['epochs', 'the parts that history is kept in, and how large each is', describeEpochs],
  ] as const) {
    program
      .command(name)
      .description(what)
      .action(async (_given, command: Command) => {
        const options = optionsOf(command);
        const all = await withApi(options, (api) => api.call('GET /v1/duties'));
        const { duties, jobs, epochs } = all;
        print(options, name === 'duties' ? { duties, jobs } : { epochs }, () => describe(all));
        const none = name === 'duties' && jobs.length === 0;
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
