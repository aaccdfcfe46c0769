import type { Command } from 'commander';
import { type Limits, throughDoor } from '../doors/door.ts';
import { Failure } from '../failure.ts';
import { note, type Options, optionsOf, print } from '../output.ts';
import { span, table } from '../table.ts';

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

async function limits(queue: string | undefined, options: Options<{ reset?: boolean }>) {
  if (options.reset && queue === undefined) {
    throw new Failure('There is no queue to reset.', 'Name it: tock limits <queue> --reset', 2);
  }
  const found = await throughDoor(options, async (door) =>
    options.reset ? door.resetLimits(queue as string) : door.limits(queue),
  );
  if (queue !== undefined && found.length === 0) {
    throw new Failure(`There is no queue ${queue} that has a limit.`, 'See: tock limits', 3);
  }
  print(options, { limits: found }, () => described(found));
  note(options, found.length === 0 && 'No queue has limits.');
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
