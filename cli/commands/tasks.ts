import type { Command } from 'commander';
import type { Answer } from '../../client/wire.ts';
import { mustHave, withApi } from '../api.ts';
import { number } from '../given.ts';
import { note, type Options, optionsOf, print } from '../output.ts';
import { moment, table } from '../table.ts';

type Page = Answer<'GET /v1/tasks'>;
type Listed = Page['tasks'][number];
type Given = {
  state?: string;
  tenant?: string;
  error?: string;
  rerun?: boolean;
  limit: number;
};

const mostInAPage = 1000;

function row(task: Listed) {
  const { id, state, priority, tenant, attempt, worker, error } = task;
  const at = moment(task.ended_at ?? task.run_at ?? task.created_at);
  return [id, state, priority, tenant, attempt, worker, at, error];
}

const heading = ['task', 'state', 'priority', 'tenant', 'attempt', 'worker', 'at', 'error'];

async function tasks(queue: string, options: Options<Given>) {
  const { state, tenant, error, rerun, limit } = options;
  const found: Listed[] = [];
  let cursor: string | null = null;
  await withApi(options, async (api) => {
    do {
      const most = Math.min(mostInAPage, Math.max(1, limit - found.length));
      const query = { queue, state, tenant, error, rerun, cursor, limit: most };
      const page: Page = await api.call('GET /v1/tasks', { query });
      found.push(...page.tasks);
      cursor = page.cursor;
    } while (cursor !== null && found.length < limit);
    if (found.length === 0) await mustHave(api, queue);
  });
  print(options, { tasks: found, cursor }, () => table([heading, ...found.map(row)]));
  note(options, found.length === 0 && 'No such tasks.');
  note(options, cursor !== null && `There may be more: --limit ${limit * 10} looks for them.`);
}

export function addTasks(program: Command): void {
  program
    .command('tasks <queue>')
    .description('tasks of a queue, by state, tenant or error')
    .option('--state <state>', 'waiting, ready, running, done, dead, cancelled or expired')
    .option('--tenant <tenant>', 'whose tasks')
    .option('--error <text>', 'dead ones whose error says so, as tock dead shows it')
    .option('--rerun', 'those that have been run again')
    .option('--limit <count>', 'so many at most', number, 100)
    .action((queue: string, _given, command: Command) => tasks(queue, optionsOf(command)));
}
