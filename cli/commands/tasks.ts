import type { Command } from 'commander';
import type { Answer, Query } from '../../client/wire.ts';
import { mustHave, withApi } from '../api.ts';
import { whole } from '../given.ts';
import { note, type Options, optionsOf, print } from '../output.ts';
import { moment, table } from '../table.ts';

type Page = Answer<'GET /v1/tasks'>;
type Found = Page['tasks'][number];
type Filter = Omit<
  Query<'GET /v1/tasks'>,
  'queue' | 'unique_key' | 'concurrency_key' | 'cursor' | 'limit'
>;
type Given = Filter & { uniqueKey?: string; concurrencyKey?: string; limit: number };

/** One call looks at some thousand rows; that many calls are made before one asks again. */
const mostCalls = 200;
const mostInAPage = 1000;

const heading = 'task queue state priority tenant attempt worker at error'.split(' ');

function row({ id, queue, state, priority, tenant, attempt, worker, error, ...at }: Found) {
  const when = moment(at.ended_at ?? at.run_at ?? at.created_at);
  return [id, queue, state, priority, tenant, attempt, worker, when, error];
}

async function tasks(queue: string | undefined, options: Options<Given>) {
  const { state, tenant, error, worker, rerun, from, to, uniqueKey, concurrencyKey, limit } =
    options;
  const rest = { worker, rerun, from, to, unique_key: uniqueKey, concurrency_key: concurrencyKey };
  const filter = { queue, state, tenant, error, ...rest };
  const found: Found[] = [];
  let cursor: string | null = null;
  let calls = 0;
  await withApi(options, async (api) => {
    do {
      const query = { ...filter, cursor, limit: Math.min(mostInAPage, limit - found.length) };
      const page: Page = await api.call('GET /v1/tasks', { query });
      found.push(...page.tasks);
      cursor = page.cursor;
      calls++;
    } while (cursor !== null && found.length < limit && calls < mostCalls);
    if (queue && found.length === 0) await mustHave(api, queue);
  });
  print(options, { tasks: found, cursor }, () => table([heading, ...found.map(row)]));
  note(options, cursor === null && found.length === 0 && 'No such tasks.');
  const more = `There may be more: --limit ${limit * 10}, or a narrower filter.`;
  note(options, cursor !== null && more);
}

export function addTasks(program: Command): void {
  program
    .command('tasks [queue]')
    .description('tasks of a queue or of all, the newest run first')
    .option('--state <state>', 'waiting, ready, running, done, dead, cancelled or expired')
    .option('--tenant <tenant>', 'whose tasks')
    .option('--worker <worker>', 'who ran them last')
    .option('--error <text>', 'dead ones whose error says so, as tock dead shows it')
    .option('--rerun', 'those that have been run again')
    .option('--from <instant>', 'made then or later, like 2030-01-31T09:00:00Z')
    .option('--to <instant>', 'made before that')
    .option('--unique-key <key>', 'the one that had this key last; needs a queue')
    .option(
      '--concurrency-key <concurrency key>',
      'who is inside a concurrency key, then its line; needs a queue',
    )
    .option('--limit <count>', 'so many at most', whole(1, 1_000_000), 100)
    .action((queue: string | undefined, _given, command: Command) =>
      tasks(queue, optionsOf(command)),
    );
}
