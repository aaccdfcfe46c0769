import type { Command } from 'commander';
import { withApi } from '../api.ts';
import { checkedId, unknownTask, wholeNumber } from '../arguments.ts';
import { note, type Options, optionsOf, print } from '../output.ts';
import { table } from '../table.ts';

type Flags = { cursor?: string; limit: number };

async function showChildren(idText: string, options: Options<Flags>) {
  const id = checkedId(idText);
  const { cursor, limit } = options;
  const answer = await withApi(options, (api) =>
    api.find('GET /v1/tasks/{id}/children', { path: { id }, query: { cursor, limit } }),
  );
  if (!answer) throw unknownTask(id);
  const { children, cursor: next } = answer;
  print(options, answer, () =>
    table([
      ['task', 'queue', 'state'],
      ...children.map(({ id, queue, state }) => [id, queue, state]),
    ]),
  );
  note(options, children.length === 0 && next === null && `No task depends on task ${id}.`);
  note(options, next !== null && `There are more: --cursor ${next}`);
}

export function addChildren(program: Command): void {
  program
    .command('children <id>')
    .description('list the tasks that depend on a task or are parts of it, with their states')
    .option('--cursor <id>', 'continue after the previous page')
    .option('--limit <count>', 'maximum number of children', wholeNumber(1, 1000), 100)
    .action((id: string, _options, command: Command) => showChildren(id, optionsOf(command)));
}
