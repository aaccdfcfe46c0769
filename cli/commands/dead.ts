import type { Command } from 'commander';
import type { Answer } from '../../client/wire.ts';
import { requireQueue, withApi } from '../api.ts';
import { number } from '../arguments.ts';
import { note, type Options, optionsOf, print } from '../output.ts';
import { moment, table } from '../table.ts';

function describe({ groups }: Answer<'GET /v1/queues/{queue}/dead'>): string {
  const rows = groups.map((group) => [
    group.tasks,
    moment(group.newest_at),
    group.newest_id,
    group.error,
  ]);
  return table([['dead', 'newest', 'task', 'error'], ...rows]);
}

export function addDead(program: Command): void {
  program
    .command('dead <queue>')
    .description('list dead tasks by error, with the newest task of each')
    .option('--limit <count>', 'maximum number of errors', number, 100)
    .action(async (queue: string, _options, command: Command) => {
      const options: Options<{ limit: number }> = optionsOf(command);
      const deadGroups = await withApi(options, async (api) => {
        const query = { limit: options.limit };
        const answer = await api.call('GET /v1/queues/{queue}/dead', { path: { queue }, query });
        if (answer.groups.length === 0) await requireQueue(api, queue);
        return answer;
      });
      print(options, deadGroups, () => describe(deadGroups));
      const { groups, counted_all } = deadGroups;
      note(options, !counted_all && 'Only the newest dead tasks were counted; there are more.');
      note(options, counted_all && groups.length === 0 && 'No dead task is left to rerun.');
    });
}
