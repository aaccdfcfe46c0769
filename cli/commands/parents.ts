import type { Command } from 'commander';
import type { Answer } from '../../client/wire.ts';
import { withApi } from '../api.ts';
import { checkedId, unknownTask, wholeNumber } from '../arguments.ts';
import { note, type Options, optionsOf, print } from '../output.ts';
import { table } from '../table.ts';

type Parent = Answer<'GET /v1/tasks/{id}/parents'>['parents'][number];
type Flags = { after: number; limit: number };

function describe(parents: Parent[]): string {
  const rows = parents.map((parent) => {
    const result = parent.result === null ? null : JSON.stringify(parent.result);
    return [parent.n, parent.id, parent.name, parent.state, result];
  });
  return table([['n', 'task', 'name', 'state', 'result'], ...rows]);
}

async function showParents(idText: string, options: Options<Flags>) {
  const id = checkedId(idText);
  const { after, limit } = options;
  const answer = await withApi(options, (api) =>
    api.find('GET /v1/tasks/{id}/parents', { path: { id }, query: { after, limit } }),
  );
  if (!answer) throw unknownTask(id);
  const { parents } = answer;
  print(options, { parents }, () => describe(parents));
  note(options, parents.length === 0 && `Task ${id} depends on no other task.`);
}

export function addParents(program: Command): void {
  program
    .command('parents <id>')
    .description('list the tasks that a task depends on, with their states and results')
    .option('--after <n>', 'continue after the n-th parent', wholeNumber(0, 10_000), 0)
    .option('--limit <count>', 'maximum number of parents', wholeNumber(1, 10_000), 1000)
    .action((id: string, _options, command: Command) => showParents(id, optionsOf(command)));
}
