import type { Command } from 'commander';
import type { Answer } from '../../client/wire.ts';
import { Failure } from '../../migrate/failure.ts';
import { withApi } from '../api.ts';
import { checkedId, unknownTask } from '../given.ts';
import { type Options, optionsOf, print } from '../output.ts';

type Changed = Answer<'POST /v1/tasks/cancel'>['tasks'][number];

const callIds = 10_000;

function said({ id, state, changed }: Changed): string {
  if (state === 'running') return `${id} is running: its worker ${changed ? 'is' : 'was'} asked`;
  if (state === 'cancelled') return `${id} ${changed ? 'is' : 'was already'} cancelled`;
  return `${id} has ended: it is ${state}`;
}

async function cancelAll(ids: string[], options: Options): Promise<Changed[]> {
  const tasks: Changed[] = [];
  await withApi(options, async (api) => {
    for (let at = 0; at < ids.length; at += callIds) {
      const body = { ids: ids.slice(at, at + callIds) };
      tasks.push(...(await api.call('POST /v1/tasks/cancel', { body })).tasks);
    }
  });
  return tasks;
}

/** A run's id is answered by its task's: then nobody knows which of several ids is the odd one. */
function unknown(ids: string[], tasks: Changed[], missing: number): Failure {
  const known = new Set(tasks.map((task) => task.id));
  const others = ids.filter((id) => !known.has(id));
  const [first = ''] = others;
  if (others.length === missing) return unknownTask(first);
  return new Failure(`${missing} of ${ids.length} are no tasks.`, undefined, 3);
}

async function cancel(given: string[], options: Options) {
  const ids = [...new Set(given.map(checkedId))];
  const tasks = await cancelAll(ids, options);
  print(options, { tasks }, () => tasks.map((task) => `${said(task)}\n`).join(''));
  const missing = ids.length - tasks.length;
  if (missing > 0) throw unknown(ids, tasks, missing);
  const late = tasks.filter(({ state }) => state !== 'running' && state !== 'cancelled').length;
  if (late > 0) throw new Failure(`${late} of ${ids.length} had ended before.`);
}

export function addCancel(program: Command): void {
  program
    .command('cancel <id...>')
    .description('cancel tasks; of a running one its worker hears, and it is not tried again')
    .action((ids: string[], _given, command: Command) => cancel(ids, optionsOf(command)));
}
