import type { Command } from 'commander';
import type { Answer } from '../../client/wire.ts';
import { Failure } from '../../migrate/failure.ts';
import { withApi } from '../api.ts';
import { checkedId, unknownTask } from '../arguments.ts';
import { type Options, optionsOf, print } from '../output.ts';

type Changed = Answer<'POST /v1/tasks/cancel'>['tasks'][number];

const callIds = 10_000;

function describe({ id, state, changed }: Changed): string {
  if (state === 'running')
    return `${id} is running: its worker ${changed ? 'is' : 'was already'} notified`;
  if (state === 'cancelled') return `${id} ${changed ? 'is' : 'was already'} cancelled`;
  return `${id} has ended: it is ${state}`;
}

async function cancelAll(ids: string[], options: Options): Promise<Changed[]> {
  const tasks: Changed[] = [];
  await withApi(options, async (api) => {
    for (let offset = 0; offset < ids.length; offset += callIds) {
      const body = { ids: ids.slice(offset, offset + callIds) };
      tasks.push(...(await api.call('POST /v1/tasks/cancel', { body })).tasks);
    }
  });
  return tasks;
}

/** The error for unknown ids. The answer to a run's id has its task's id, so it may be unclear which id is unknown. */
function unknownIds(ids: string[], tasks: Changed[], missing: number): Failure {
  const knownIds = new Set(tasks.map((task) => task.id));
  const missingIds = ids.filter((id) => !knownIds.has(id));
  const [first = ''] = missingIds;
  if (missingIds.length === missing) return unknownTask(first);
  return new Failure(`${missing} of ${ids.length} ids are not tasks.`, undefined, 3);
}

async function cancel(idTexts: string[], options: Options) {
  const ids = [...new Set(idTexts.map(checkedId))];
  const tasks = await cancelAll(ids, options);
  print(options, { tasks }, () => tasks.map((task) => `${describe(task)}\n`).join(''));
  const missing = ids.length - tasks.length;
  if (missing > 0) throw unknownIds(ids, tasks, missing);
  const alreadyEnded = tasks.filter(
    ({ state }) => state !== 'running' && state !== 'cancelled',
  ).length;
  if (alreadyEnded > 0)
    throw new Failure(`${alreadyEnded} of ${ids.length} tasks had already ended.`);
}

export function addCancel(program: Command): void {
  program
    .command('cancel <id...>')
    .description(
      'cancel tasks; the worker of a running task is notified, and the task is not retried',
    )
    .action((ids: string[], _options, command: Command) => cancel(ids, optionsOf(command)));
}
