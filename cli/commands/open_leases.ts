import type { Command } from 'commander';
import type { Answer } from '../../client/wire.ts';
import { withApi } from '../api.ts';
import { wholeNumber } from '../arguments.ts';
import { note, type Options, optionsOf, print } from '../output.ts';
import { moment, table } from '../table.ts';

type LeasePage = Answer<'GET /v1/leases'>;
type Lease = LeasePage['leases'][number];

const PAGE_SIZE = 1000;

function leaseRow(lease: Lease) {
  const { queue, worker, claimed_at, leased_until, late, runs, unfinished, tasks } = lease;
  const firstTasks = tasks.slice(0, 3).join(' ') + (unfinished > 3 ? ' …' : '');
  const until = `${moment(leased_until)}${late ? ' late' : ''}`;
  return [queue, worker, moment(claimed_at), until, runs, unfinished, firstTasks];
}

async function leases(options: Options<{ queue?: string; worker?: string; limit: number }>) {
  const { queue, worker, limit } = options;
  const collected: Lease[] = [];
  let cursor: string | null = null;
  await withApi(options, async (api) => {
    do {
      const query = { queue, worker, cursor, limit: Math.min(PAGE_SIZE, limit - collected.length) };
      const page: LeasePage = await api.call('GET /v1/leases', { query });
      collected.push(...page.leases);
      cursor = page.cursor;
    } while (cursor !== null && collected.length < limit);
  });
  const heading = ['queue', 'worker', 'since', 'until', 'runs', 'unfinished', 'tasks'];
  print(options, { leases: collected, cursor }, () => table([heading, ...collected.map(leaseRow)]));
  note(options, collected.length === 0 && 'There are no open leases.');
}

type WorkerOptions = { queue?: string; seconds: number; limit: number };

async function workers(options: Options<WorkerOptions>) {
  const { queue, seconds, limit } = options;
  const { workers: found } = await withApi(options, (api) =>
    api.call('GET /v1/workers', { query: { queue, seconds, limit } }),
  );
  const rows = found.map((row) => [
    row.worker,
    row.queues.join(' '),
    moment(row.last_claim_at),
    row.leases,
    row.open_leases,
    row.average_open.toFixed(2),
  ]);
  const heading = ['worker', 'queues', 'last claim', 'leases', 'open', 'open on average'];
  print(options, { workers: found }, () => table([heading, ...rows]));
  note(options, found.length === 0 && 'No worker has claimed a task in this period.');
}

export function addOpenLeases(program: Command): void {
  program
    .command('leases')
    .description('list open leases with their workers and tasks, earliest end first')
    .option('--queue <queue>', 'leases of this queue')
    .option('--worker <worker>', 'leases of this worker')
    .option('--limit <count>', 'maximum number of leases', wholeNumber(1, 100_000), 100)
    .action((_options, command: Command) => leases(optionsOf(command)));
  program
    .command('workers')
    .description('list the workers that claimed tasks lately, also those that are idle now')
    .option('--queue <queue>', 'claims of this queue')
    .option('--seconds <seconds>', 'the period', wholeNumber(1, 86_400), 3600)
    .option('--limit <count>', 'maximum number of workers', wholeNumber(1, 10_000), 1000)
    .action((_options, command: Command) => workers(optionsOf(command)));
}
