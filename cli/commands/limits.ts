import type { Command } from 'commander';
import type { Answer } from '../../client/wire.ts';
import { Failure } from '../../migrate/failure.ts';
import { type Api, withApi } from '../api.ts';
import { note, type Options, optionsOf, print } from '../output.ts';
import { span, table } from '../table.ts';

type Limits = Answer<'GET /v1/limits'>['limits'][number];

const heading = ['queue', 'running', 'of', 'starts', 'per', 'burst', 'may start now'];

function described(all: Limits[]): string {
  const rows = all.map((one) => {
    const { queue, running, max_running, rate_limit, rate_burst, level } = one;
    const per = rate_limit && span(one.rate_seconds);
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

async function found(api: Api, queue: string | undefined, reset: boolean): Promise<Limits[]> {
  if (queue === undefined) return (await api.call('GET /v1/limits')).limits;
  const path = { queue };
  const one = await (reset
    ? api.find('POST /v1/queues/{queue}/limits/reset', { path })
    : api.find('GET /v1/queues/{queue}/limits', { path }));
  return one ? [one] : [];
}

async function limits(queue: string | undefined, options: Options<{ reset?: boolean }>) {
  if (options.reset && queue === undefined) {
    throw new Failure('There is no queue to reset.', 'Name it: tock limits <queue> --reset', 2);
  }
  const all = await withApi(options, (api) => found(api, queue, options.reset ?? false));
  if (queue !== undefined && all.length === 0) {
    throw new Failure(`There is no queue ${queue} that has a limit.`, 'See: tock limits', 3);
  }
  print(options, { limits: all }, () => described(all));
  note(options, all.length === 0 && 'No queue has limits.');
}

export function addLimits(program: Command): void {
  program
    .command('limits [queue]')
    .description('queues with limits and how they stand to them')
    .option('--reset', "fill the bucket of the queue's rate again")
    .action((queue: string | undefined, _given, command: Command) =>
      limits(queue, optionsOf(command)),
    );
}
