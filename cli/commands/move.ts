import type { Command } from 'commander';
import type { Answer } from '../../client/wire.ts';
import { Failure } from '../../migrate/failure.ts';
import { withApi } from '../api.ts';
import { checkedId } from '../arguments.ts';
import { type Options, optionsOf, print } from '../output.ts';

type Changed = Answer<'POST /v1/tasks/move'>['tasks'][number];

const callIds = 10_000;

async function move(queue: string, idTexts: string[], options: Options) {
  const ids = [...new Set(idTexts.map(checkedId))];
  const tasks: Changed[] = [];
  await withApi(options, async (api) => {
    for (let offset = 0; offset < ids.length; offset += callIds) {
      const body = { ids: ids.slice(offset, offset + callIds), queue };
      tasks.push(...(await api.call('POST /v1/tasks/move', { body })).tasks);
    }
  });
  const describe = ({ id, state, changed }: Changed) =>
    changed ? `${id} is now in ${queue}\n` : `${id} was not moved: it is ${state}\n`;
  print(options, { tasks }, () => tasks.map(describe).join(''));
  const missing = ids.length - tasks.length;
  if (missing > 0)
    throw new Failure(`${missing} of ${ids.length} ids are not tasks.`, undefined, 3);
  const stayed = tasks.filter((task) => !task.changed).length;
  if (stayed > 0) throw new Failure(`${stayed} of ${ids.length} tasks were not moved.`);
}

export function addMove(program: Command): void {
  program
    .command('move <queue> <id...>')
    .description('move waiting and ready tasks to another queue')
    .action((queue: string, ids: string[], _options, command: Command) =>
      move(queue, ids, optionsOf(command)),
    );
}
