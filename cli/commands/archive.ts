import type { Command } from 'commander';
import type { Answer, Query } from '../../client/wire.ts';
import { Failure } from '../../migrate/failure.ts';
import { type Api, withApi } from '../api.ts';
import { wholeNumber } from '../arguments.ts';
import { note, type Options, optionsOf, print } from '../output.ts';
import { withBar } from '../progress.ts';
import { moment, plural, table } from '../table.ts';

type ArchivedTask = Answer<'GET /v1/archive/tasks'>['tasks'][number];

/** Refuses a step or search in this process, because only the Worker has the store. */
function mustReachStore(api: Api): void {
  if (!api.isLocal) return;
  const next = 'Give --url and --key of the Worker.';
  throw new Failure(
    "This command needs the archive's store, which only the Worker can access.",
    next,
    2,
  );
}

const mebibytes = (bytes: number) => `${(bytes / 2 ** 20).toFixed(1)} MiB`;

function describe(all: Answer<'GET /v1/archive'>): string {
  const { enabled, prefix, waiting, exported, files, rows, bytes, failures } = all;
  const lines = [
    `The archive is ${enabled ? 'on' : 'off'}; the prefix of its files is ${prefix}/`,
    `${plural(exported, 'segment')} in ${plural(files, 'file')}: ${plural(rows, 'run')}, ${mebibytes(bytes)}`,
    `${plural(waiting, 'segment waits', 'segments wait')} for export${waiting ? `, the oldest since ${moment(all.oldest_waiting_at)}` : ''}`,
    `Last step: ${moment(all.last_step_at) ?? 'never'}`,
  ];
  if (all.erasures_pending)
    lines.push(
      `${plural(all.erasures_pending, 'erased task is', 'erased tasks are')} still in its files`,
    );
  if (failures)
    lines.push(`The last ${plural(failures, 'step')} failed, the latest with: ${all.last_error}`);
  return `${lines.join('\n')}\n`;
}

const status = (options: Options) =>
  withApi(options, async (api) => {
    const all = await api.call('GET /v1/archive');
    print(options, all, () => describe(all));
  });

async function putSettings(settings: { enabled: boolean; prefix?: string }, options: Options) {
  await withApi(options, async (api) => {
    // Without a store the archive would never write a file, and no segment could be dropped.
    if (settings.enabled) mustReachStore(api);
    await api.call('PUT /v1/archive', { body: settings });
  });
  await status(options);
}

/** Repeats steps until nothing is left to do. */
async function run(options: Options) {
  const all = { steps: 0, rows: 0, bytes: 0, erased: 0, deleted: 0 };
  await withApi(options, (api) =>
    withBar(options, 'Runs', null, async (progress) => {
      mustReachStore(api);
      let step: Answer<'POST /v1/archive/step'>;
      do {
        step = await api.call('POST /v1/archive/step', { body: {} });
        all.steps++;
        all.rows += step.rows;
        all.bytes += step.bytes;
        all.erased += step.erased;
        all.deleted += step.deleted;
        progress.add(step.rows);
      } while (step.more);
    }),
  );
  print(options, all, () => {
    const { rows, bytes, erased } = all;
    return `${plural(rows, 'run')} exported, ${mebibytes(bytes)}; ${plural(erased, 'task')} erased\n`;
  });
}

const endSegment = (options: Options) =>
  withApi(options, async (api) => {
    const endedSegment = await api.call('POST /v1/archive/end');
    const { segment, closed_at, why } = endedSegment;
    const next = closed_at
      ? 'all its runs have ended: tock archive run exports it once it is verified, and it is dropped within minutes.'
      : `it is exported and dropped when all its runs have ended. It waits for: ${why}.`;
    print(options, endedSegment, () => `Segment ${segment} has ended; ${next}\n`);
  });

/** The archive lists a task only after the database has dropped its segment. */
const NONE_ARCHIVED =
  'The archive has no such tasks. Tasks that are still in the database: tock tasks';

type TaskQuery = Query<'GET /v1/archive/tasks'>;
type Search = Omit<TaskQuery, 'queue' | 'unique_key' | 'limit'> & {
  uniqueKey?: string;
  limit: number;
};

async function ls(queue: string, options: Options<Search>) {
  const { state, tenant, uniqueKey: unique_key, worker, error, from, to, limit } = options;
  const filter = { queue, state, tenant, unique_key, worker, error, from, to };
  const tasks: ArchivedTask[] = [];
  let cursor: string | null = null;
  await withApi(options, async (api) => {
    mustReachStore(api);
    do {
      const query = { ...filter, cursor, limit: Math.min(1000, limit - tasks.length) };
      const page: Answer<'GET /v1/archive/tasks'> = await api.call('GET /v1/archive/tasks', {
        query,
      });
      tasks.push(...page.tasks);
      cursor = page.cursor;
    } while (cursor !== null && tasks.length < limit);
  });
  const rows = tasks.map((task) => [
    task.id,
    task.state,
    task.tenant,
    task.attempt,
    task.worker,
    moment(task.ended_at ?? task.created_at),
    task.error,
  ]);
  const heading = ['task', 'state', 'tenant', 'attempt', 'worker', 'ended', 'error'];
  print(options, { tasks, cursor }, () => table([heading, ...rows]));
  note(options, rows.length === 0 && NONE_ARCHIVED);
}

export function addArchive(program: Command): void {
  const archive = program.command('archive').description('history in object storage');
  archive
    .command('status')
    .description('show its state, its size and the segments that wait for export')
    .action((_options, command: Command) => status(optionsOf(command)));
  archive
    .command('on')
    .description('from now on drop history only after it is archived and verified')
    .option('--prefix <path>', 'prefix of its files')
    .action((_options, command: Command) => {
      const options: Options<{ prefix?: string }> = optionsOf(command);
      const { prefix } = options;
      return putSettings({ enabled: true, ...(prefix !== undefined && { prefix }) }, options);
    });
  archive
    .command('off')
    .description('turn the archive off: history is dropped without export; existing files stay')
    .action((_options, command: Command) => putSettings({ enabled: false }, optionsOf(command)));
  archive
    .command('end')
    .description('end the current segment, so that it is exported and dropped early')
    .action((_options, command: Command) => endSegment(optionsOf(command)));
  archive
    .command('run')
    .description('run its steps until nothing is left to export, erase or delete')
    .action((_options, command: Command) => run(optionsOf(command)));
  archive
    .command('ls <queue>')
    .description('list archived tasks of a queue, newest segments first')
    .option('--state <state>', 'done, dead, cancelled or expired')
    .option('--tenant <tenant>', 'tasks of this tenant')
    .option('--unique-key <key>', 'tasks with this unique key')
    .option('--worker <worker>', 'tasks last run by this worker')
    .option('--error <text>', 'dead tasks with exactly this error')
    .option('--from <instant>', 'created at or after this time')
    .option('--to <instant>', 'created before this time')
    .option('--limit <count>', 'maximum number of tasks', wholeNumber(1, 1_000_000), 100)
    .action((queue: string, _options, command: Command) => ls(queue, optionsOf(command)));
}
