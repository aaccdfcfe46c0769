import { type Command, InvalidArgumentError } from 'commander';
import { withDatabase } from '../../migrate/connect.ts';
import { optionsOf, print } from '../output.ts';
import { databaseUrl } from '../settings.ts';
import { runStatement } from '../statement.ts';

function rangeOf(text: string): number {
  if (!/^\d{1,4}$/.test(text) || Number(text) > 1023)
    throw new InvalidArgumentError('It must be a whole number from 0 to 1023.');
  return Number(text);
}

export function addNodes(program: Command): void {
  program
    .command('nodes')
    .description('several databases that share the tasks')
    .command('found')
    .description('give this database a range of ids of its own, 0 to 1023')
    .argument('<range>', 'which no other node has', rangeOf)
    .action(async (range: number, _options, command: Command) => {
      const options = optionsOf(command);
      const found = 'select tock.found_range(p_range => $1) as positions_left';
      const [left] = await withDatabase(databaseUrl(options), (client) =>
        runStatement<{ positions_left: string }>(client, found, [range]),
      );
      print(
        options,
        { range, ...left },
        () => `Range ${range}: ${left?.positions_left} ids are left.\n`,
      );
    });
}
