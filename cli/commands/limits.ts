import type { Command } from 'commander';
import type { Answer } from '../../client/wire.ts';
import { Failure } from '../../migrate/failure.ts';
import { type Api, withApi } from '../api.ts';
import { note, type Options, optionsOf, print } from '../output.ts';
import { span, table } from '../table.ts';

type Limits = Answer<'GET /v1/limits'>['limits'][number];

const heading = ['queue', 'running', 'of', 'starts', 'per', 'burst', 'may start now'];

function described(all: Limits[]): string {
  const rows = all.map((limit) => {
    const { queue, running, max_running, rate_limit, rate_burst, level } = limit;
    const per = rate_limit && span(limit.rate_seconds);
    return [
      queue,
      running,
      max_running,
      rate_limit,
      per,
      rate_burst,
      level && Math.floor(level * 100) / 100,
    ];
  });
  return table([heading, ...rows]);
}

async function readLimits(api: Api, queue: string | undefined, reset: boolean): Promise<Limits[]> {
  if (queue === undefined) return (await api.call('GET /v1/limits')).limits;
  const path = { queue };
  const limit = await (reset
    ? api.find('POST /v1/queues/{queue}/limits/reset', { path })
    : api.find('GET /v1/queues/{queue}/limits', { path }));
  return limit ? [limit] : [];
}

async function limits(queue: string | undefined, options: Options<{ reset?: boolean }>) {
  if (options.reset && queue === undefined) {
    throw new Failure('--reset needs a queue.', 'Use: tock limits <queue> --reset', 2);
  }
  const all = await withApi(options, (api) => readLimits(api, queue, options.reset ?? false));
  if (queue !== undefined && all.length === 0) {
    throw new Failure(`There is no queue ${queue} with limits.`, 'See: tock limits', 3);
  }
  print(options, { limits: all }, () => described(all));
  note(options, all.length === 0 && 'No queue has limits.');
}

export function addLimits(program: Command): void {
  program
    .command('limits [queue]')
    .description('list queues with limits, and the current state of each limit')
    .option('--reset', "refill the bucket of the queue's rate")
    .action((queue: string | undefined, _options, command: Command) =>
      limits(queue, optionsOf(command)),
    );
}
