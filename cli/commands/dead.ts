import type { Command } from 'commander';
import { type Dead, mustHave, throughDoor } from '../doors/door.ts';
import { number } from '../given.ts';
import { note, type Options, optionsOf, print } from '../output.ts';
import { moment, table } from '../table.ts';

function describe({ groups }: Dead): string {
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
      const dead = await throughDoor(options, async (door) => {
        const found = await door.dead(queue, options.limit);
        if (found.groups.length === 0) await mustHave(door, queue);
        return found;
      });
      print(options, dead, () => describe(dead));
      const { groups, counted_all } = dead;
      note(options, !counted_all && 'There are more than were looked at: these are the newest.');
      note(options, counted_all && groups.length === 0 && 'No dead task is left to run again.');
    });
}
