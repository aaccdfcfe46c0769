import type { Command } from 'commander';
import { withApi } from '../api.ts';
import { optionsOf, print } from '../output.ts';
import { moment } from '../table.ts';

export function addTick(program: Command): void {
  program
    .command('tick')
    .description('do what is due, like pg_cron: promote, reap, fire schedules …')
    .action(async (_options, command: Command) => {
      const options = optionsOf(command);
      const { next_wake_at } = await withApi(options, (api) => api.call('POST /v1/tick'));
      const nextWakeAt = moment(next_wake_at);
      print(options, { next_wake_at }, () =>
        nextWakeAt ? `Next due at ${nextWakeAt}\n` : 'Nothing is due\n',
      );
    });
}
