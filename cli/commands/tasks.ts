import type { Command } from 'commander';
import type { Answer, Query } from '../../client/wire.ts';
import { requireQueue, withApi } from '../api.ts';
import { wholeNumber } from '../arguments.ts';
import { note, type Options, optionsOf, print } from '../output.ts';
import { moment, table } from '../table.ts';

type Page = Answer<'GET /v1/tasks'>;
type ListedTask = Page['tasks'][number];
type Filter = Omit<
  Query<'GET /v1/tasks'>,
  'queue' | 'unique_key' | 'concurrency_key' | 'cursor' | 'limit'
>;
type Flags = Omit<Filter, 'waiting_for'> & {
  uniqueKey?: string;
  concurrencyKey?: string;
  waitingFor?: Filter['waiting_for'];
  limit: number;
};

/** Maximum number of calls of one command. A call scans some thousand rows. */
const MAX_CALLS = 200;
const PAGE_SIZE = 1000;

const heading = 'task queue state priority tenant attempt worker at error'.split(' ');

function row({ id, queue, state, priority, tenant, attempt, worker, error, ...times }: ListedTask) {
  const time = moment(times.ended_at ?? times.run_at ?? times.created_at);
  return [id, queue, state, priority, tenant, attempt, worker, time, error];
}

/** How far the tasks are that a task waits for, such as `1372 of 2000 done, 3 dead`. */
function parentsText({ parents, parent_counts }: ListedTask): string | null {
  if (!parent_counts) return parents ? String(parents) : null;
  const ended = ['dead', 'cancelled', 'expired', 'gone'].filter((state) => parent_counts[state]);
  return [
    `${parent_counts.done ?? 0} of ${parents} done`,
    ...ended.map((state) => `${parent_counts[state]} ${state}`),
  ].join(', ');
}

/** Tasks that wait for others have a column for these. */
function describe(tasks: ListedTask[]): string {
  if (!tasks.some(({ parents }) => parents)) return table([heading, ...tasks.map(row)]);
  const rows = tasks.map((task) => [...row(task).slice(0, -1), parentsText(task)]);
  return table([[...heading.slice(0, -1), 'parents'], ...rows]);
}

async function tasks(queue: string | undefined, options: Options<Flags>) {
  const { state, tenant, error, worker, rerun, from, to, payload } = options;
  const { uniqueKey, concurrencyKey, waitingFor, limit } = options;
  const otherFilters = {
    worker,
    rerun,
    from,
    to,
    payload,
    waiting_for: waitingFor,
    unique_key: uniqueKey,
    concurrency_key: concurrencyKey,
  };
  const filter = { queue, state, tenant, error, ...otherFilters };
  const collected: ListedTask[] = [];
  let cursor: string | null = null;
  let calls = 0;
  await withApi(options, async (api) => {
    do {
      const query = { ...filter, cursor, limit: Math.min(PAGE_SIZE, limit - collected.length) };
      const page: Page = await api.call('GET /v1/tasks', { query });
      collected.push(...page.tasks);
      cursor = page.cursor;
      calls++;
    } while (cursor !== null && collected.length < limit && calls < MAX_CALLS);
    if (queue && collected.length === 0) await requireQueue(api, queue);
  });
  print(options, { tasks: collected, cursor }, () => describe(collected));
  note(options, cursor === null && collected.length === 0 && 'No such tasks.');
  const hint = `There may be more: give --limit ${limit * 10}, or a narrower filter.`;
  note(options, cursor !== null && hint);
}

export function addTasks(program: Command): void {
  program
    .command('tasks [queue]')
    .description('list tasks of one or all queues, newest run first')
    .option('--state <state>', 'waiting, ready, running, done, dead, cancelled or expired')
    .option('--tenant <tenant>', 'tasks of this tenant')
    .option('--worker <worker>', 'tasks last run by this worker')
    .option('--error <text>', 'dead tasks with this error, as tock dead shows it')
    .option('--rerun', 'tasks that were rerun')
    .option('--from <instant>', 'created at or after this time, like 2030-01-31T09:00:00Z')
    .option('--to <instant>', 'created before this time')
    .option('--payload <json>', 'payload contains this object, like \'{"customer": 7}\'')
    .option(
      '--waiting-for <reason>',
      'waiting tasks by reason: time, concurrency_key, dependency, child or event',
    )
    .option('--unique-key <key>', 'the last task with this unique key; needs a queue')
    .option(
      '--concurrency-key <concurrency key>',
      'holders of this concurrency key, then its waiters; needs a queue',
    )
    .option('--limit <count>', 'maximum number of tasks', wholeNumber(1, 1_000_000), 100)
    .action((queue: string | undefined, _options, command: Command) =>
      tasks(queue, optionsOf(command)),
    );
}
