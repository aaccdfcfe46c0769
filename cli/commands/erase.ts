import type { Command } from 'commander';
import { throughDoor } from '../doors/door.ts';
import { checkedId, unknownTask } from '../given.ts';
import { type Options, optionsOf, print } from '../output.ts';

async function erase(given: string, options: Options) {
  const id = checkedId(given);
  const erased = await throughDoor(options, (door) => door.erase(id));
  if (erased === null) throw unknownTask(id);
  const rows = erased === 1 ? '1 row is' : `${erased} rows are`;
  print(options, { erased }, () => `${id}: ${rows} emptied\n`);
}

export function addErase(program: Command): void {
  program
    .command('erase <id>')
    .description("empty an ended task's payload, result and errors, for good")
    .action((id: string, _given, command: Command) => erase(id, optionsOf(command)));
}
