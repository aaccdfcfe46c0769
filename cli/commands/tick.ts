import type { Command } from 'commander';
import { withApi } from '../api.ts';
import { optionsOf, print } from '../output.ts';
import { moment } from '../table.ts';

export function addTick(program: Command): void {
  program
    .command('tick')
    .description('do what is due: promote, reap, fire schedules …; what pg_cron does by itself')
    .action(async (_given, command: Command) => {
      const options = optionsOf(command);
      const { next_wake_at } = await withApi(options, (api) => api.call('POST /v1/tick'));
      const at = moment(next_wake_at);
      print(options, { next_wake_at }, () =>
        at ? `Due next at ${at}\n` : 'Nothing is due next\n',
      );
    });
}
