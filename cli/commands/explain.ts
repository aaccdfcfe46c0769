import type { Command } from 'commander';
import { withApi } from '../api.ts';
import { type Options, optionsOf, print } from '../output.ts';
import { described } from './doctor.ts';

async function why(queue: string, options: Options) {
  const { reasons } = await withApi(options, (api) =>
    api.call('GET /v1/queues/{queue}/why', { path: { queue } }),
  );
  print(options, { reasons }, () =>
    reasons.length === 0 ? `Nothing delays ${queue}.\n` : reasons.map(described).join(''),
  );
}

export function addWhy(program: Command): void {
  program
    .command('why <queue>')
    .description('list the reasons why tasks of a queue are late now, with hints')
    .action((queue: string, _options, command: Command) => why(queue, optionsOf(command)));
}
