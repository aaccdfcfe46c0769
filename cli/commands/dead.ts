import type { Command } from 'commander';
import type { Answer } from '../../client/wire.ts';
import { mustHave, withApi } from '../api.ts';
import { number } from '../given.ts';
import { note, type Options, optionsOf, print } from '../output.ts';
import { moment, table } from '../table.ts';

function describe({ groups }: Answer<'GET /v1/queues/{queue}/dead'>): string {
  const rows = groups.map((one) => [one.tasks, moment(one.newest_at), one.newest_id, one.error]);
  return table([['dead', 'newest', 'task', 'error'], ...rows]);
}

export function addDead(program: Command): void {
  program
    .command('dead <queue>')
    .description('dead tasks by what their error says, with the newest one of each')
    .option('--limit <count>', 'so many errors at most', number, 100)
    .action(async (queue: string, _given, command: Command) => {
      const options: Options<{ limit: number }> = optionsOf(command);
      const dead = await withApi(options, async (api) => {
        const query = { limit: options.limit };
        const found = await api.call('GET /v1/queues/{queue}/dead', { path: { queue }, query });
        if (found.groups.length === 0) await mustHave(api, queue);
        return found;
      });
      print(options, dead, () => describe(dead));
      const { groups, counted_all } = dead;
      note(options, !counted_all && 'There are more than were looked at: these are the newest.');
      note(options, counted_all && groups.length === 0 && 'No dead task is left to run again.');
    });
}
