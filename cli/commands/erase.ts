import type { Command } from 'commander';
import { withApi } from '../api.ts';
import { checkedId, unknownTask } from '../arguments.ts';
import { type Options, optionsOf, print } from '../output.ts';

async function erase(idText: string, options: Options) {
  const id = checkedId(idText);
  const answer = await withApi(options, (api) =>
    api.find('DELETE /v1/tasks/{id}/payload', { path: { id } }),
  );
  if (answer === null) throw unknownTask(id);
  const { erased } = answer;
  const rows = erased === 1 ? '1 row is' : `${erased} rows are`;
  print(options, { erased }, () => `${id}: ${rows} emptied\n`);
}

export function addErase(program: Command): void {
  program
    .command('erase <id>')
    .description("permanently erase an ended task's payload, result and errors")
    .action((id: string, _options, command: Command) => erase(id, optionsOf(command)));
}
