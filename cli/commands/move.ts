import type { Command } from 'commander';
import type { Answer } from '../../client/wire.ts';
import { Failure } from '../../migrate/failure.ts';
import { withApi } from '../api.ts';
import { checkedId } from '../given.ts';
import { type Options, optionsOf, print } from '../output.ts';

type Changed = Answer<'POST /v1/tasks/move'>['tasks'][number];

const callIds = 10_000;

async function move(queue: string, given: string[], options: Options) {
  const ids = [...new Set(given.map(checkedId))];
  const tasks: Changed[] = [];
  await withApi(options, async (api) => {
    for (let at = 0; at < ids.length; at += callIds) {
      const body = { ids: ids.slice(at, at + callIds), queue };
      tasks.push(...(await api.call('POST /v1/tasks/move', { body })).tasks);
    }
  });
  const said = ({ id, state, changed }: Changed) =>
    changed ? `${id} is in ${queue} now\n` : `${id} is not moved: it is ${state}\n`;
  print(options, { tasks }, () => tasks.map(said).join(''));
  const missing = ids.length - tasks.length;
  if (missing > 0) throw new Failure(`${missing} of ${ids.length} are no tasks.`, undefined, 3);
  const stayed = tasks.filter((task) => !task.changed).length;
  if (stayed > 0) throw new Failure(`${stayed} of ${ids.length} were not moved.`);
}

export function addMove(program: Command): void {
  program
    .command('move <queue> <id...>')
    .description('move waiting and ready tasks to a queue')
    .action((queue: string, ids: string[], _given, command: Command) =>
      move(queue, ids, optionsOf(command)),
    );
}
