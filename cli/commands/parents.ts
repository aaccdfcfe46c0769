import type { Command } from 'commander';
import type { Answer } from '../../client/wire.ts';
import { withApi } from '../api.ts';
import { checkedId, unknownTask, whole } from '../given.ts';
import { note, type Options, optionsOf, print } from '../output.ts';
import { table } from '../table.ts';

type Parent = Answer<'GET /v1/tasks/{id}/parents'>['parents'][number];
type Given = { after: number; limit: number };

function describe(parents: Parent[]): string {
  const rows = parents.map((one) => {
    const result = one.result === null ? null : JSON.stringify(one.result);
    return [one.n, one.id, one.name, one.state, result];
  });
  return table([['n', 'task', 'name', 'state', 'result'], ...rows]);
}

async function show(given: string, options: Options<Given>) {
  const id = checkedId(given);
  const { after, limit } = options;
  const found = await withApi(options, (api) =>
    api.find('GET /v1/tasks/{id}/parents', { path: { id }, query: { after, limit } }),
  );
  if (!found) throw unknownTask(id);
  const { parents } = found;
  print(options, { parents }, () => describe(parents));
  note(options, parents.length === 0 && `Task ${id} comes after no other.`);
}

export function addParents(program: Command): void {
  program
    .command('parents <id>')
    .description('the tasks that a task comes after, with their states and results')
    .option('--after <n>', 'go on after the n-th', whole(0, 10_000), 0)
    .option('--limit <count>', 'up to so many', whole(1, 10_000), 1000)
    .action((id: string, _given, command: Command) => show(id, optionsOf(command)));
}
