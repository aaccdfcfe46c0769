import type { Command } from 'commander';
import type { Answer, Query } from '../../client/wire.ts';
import { Failure } from '../../migrate/failure.ts';
import { type Api, withApi } from '../api.ts';
import { whole } from '../given.ts';
import { note, type Options, optionsOf, print } from '../output.ts';
import { withBar } from '../progress.ts';
import { moment, some, table } from '../table.ts';

type Found = Answer<'GET /v1/archive/tasks'>['tasks'][number];

/** What steps, and looks into files, is a Worker. */
function mustReachStore(api: Api): void {
  if (!api.isLocal) return;
  const next = 'Give --url and --key: the Worker has the store.';
  throw new Failure('The archive lies in a store that SQL does not reach.', next, 2);
}

const mebibytes = (bytes: number) => `${(bytes / 2 ** 20).toFixed(1)} MiB`;

function describe(all: Answer<'GET /v1/archive'>): string {
  const { enabled, prefix, waiting, exported, files, rows, bytes, failures } = all;
  const lines = [
    `The archive is ${enabled ? 'on' : 'off'}; its files lie under ${prefix}/`,
    `${some(exported, 'segment')} in ${some(files, 'file')}: ${some(rows, 'run')}, ${mebibytes(bytes)}`,
    `${some(waiting, 'segment waits', 'segments wait')} for it${waiting ? `, the oldest since ${moment(all.oldest_waiting_at)}` : ''}`,
    `Last step: ${moment(all.last_step_at) ?? 'never'}`,
  ];
  if (all.erasures_pending)
    lines.push(
      `${some(all.erasures_pending, 'erased task is', 'erased tasks are')} still in its files`,
    );
  if (failures)
    lines.push(`${some(failures, 'step')} in a row failed, the last with: ${all.last_error}`);
  return `${lines.join('\n')}\n`;
}

const status = (options: Options) =>
  withApi(options, async (api) => {
    const all = await api.call('GET /v1/archive');
    print(options, all, () => describe(all));
  });

async function put(settings: { enabled: boolean; prefix?: string }, options: Options) {
  await withApi(options, async (api) => {
    // On without a store it would only keep history from being dropped.
    if (settings.enabled) mustReachStore(api);
    await api.call('PUT /v1/archive', { body: settings });
  });
  await status(options);
}

/** Steps until nothing is left to do. */
async function run(options: Options) {
  const all = { steps: 0, rows: 0, bytes: 0, erased: 0, deleted: 0 };
  await withApi(options, (api) =>
    withBar(options, 'Runs', null, async (shown) => {
      mustReachStore(api);
      let step: Answer<'POST /v1/archive/step'>;
      do {
        step = await api.call('POST /v1/archive/step', { body: {} });
        all.steps++;
        all.rows += step.rows;
        all.bytes += step.bytes;
        all.erased += step.erased;
        all.deleted += step.deleted;
        shown.add(step.rows);
      } while (step.more);
    }),
  );
  print(options, all, () => {
    const { rows, bytes, erased } = all;
    return `${some(rows, 'run')} exported, ${mebibytes(bytes)}; ${some(erased, 'task')} erased\n`;
  });
}

const end = (options: Options) =>
  withApi(options, async (api) => {
    const ended = await api.call('POST /v1/archive/end');
    const { segment, closed_at, why } = ended;
    const next = closed_at
      ? 'all in it is over: tock archive run exports it once it is audited, and it is dropped within minutes.'
      : `it is exported and dropped when all in it is over. It waits for: ${why}.`;
    print(options, ended, () => `Segment ${segment} has ended; ${next}\n`);
  });

/** What is exported is listed there once the database has dropped it. */
const NONE_ARCHIVED =
  'No such tasks in the archive. What the database has not dropped yet: tock tasks';

type Asked = Query<'GET /v1/archive/tasks'>;
type Search = Omit<Asked, 'queue' | 'unique_key' | 'limit'> & { uniqueKey?: string; limit: number };

async function ls(queue: string, options: Options<Search>) {
  const { state, tenant, uniqueKey: unique_key, worker, error, from, to, limit } = options;
  const asked = { queue, state, tenant, unique_key, worker, error, from, to };
  const tasks: Found[] = [];
  let cursor: string | null = null;
  await withApi(options, async (api) => {
    mustReachStore(api);
    do {
      const query = { ...asked, cursor, limit: Math.min(1000, limit - tasks.length) };
      const page: Answer<'GET /v1/archive/tasks'> = await api.call('GET /v1/archive/tasks', {
        query,
      });
      tasks.push(...page.tasks);
      cursor = page.cursor;
    } while (cursor !== null && tasks.length < limit);
  });
  const rows = tasks.map((one) => [
    one.id,
    one.state,
    one.tenant,
    one.attempt,
    one.worker,
    moment(one.ended_at ?? one.created_at),
    one.error,
  ]);
  const heading = ['task', 'state', 'tenant', 'attempt', 'worker', 'ended', 'error'];
  print(options, { tasks, cursor }, () => table([heading, ...rows]));
  note(options, rows.length === 0 && NONE_ARCHIVED);
}

export function addArchive(program: Command): void {
  const archive = program.command('archive').description('history in object storage');
  archive
    .command('status')
    .description('whether it is on, what lies there and what waits for it')
    .action((_given, command: Command) => status(optionsOf(command)));
  archive
    .command('on')
    .description('from now on no history is dropped that is not there, verified')
    .option('--prefix <path>', 'under which its files lie')
    .action((_given, command: Command) => {
      const options: Options<{ prefix?: string }> = optionsOf(command);
      const { prefix } = options;
      return put({ enabled: true, ...(prefix !== undefined && { prefix }) }, options);
    });
  archive
    .command('off')
    .description('history is dropped as if there were none; what is there stays')
    .action((_given, command: Command) => put({ enabled: false }, optionsOf(command)));
  archive
    .command('end')
    .description('end the segment in use, so that it goes there at once and is dropped')
    .action((_given, command: Command) => end(optionsOf(command)));
  archive
    .command('run')
    .description('take its steps until nothing is left to export, erase or delete')
    .action((_given, command: Command) => run(optionsOf(command)));
  archive
    .command('ls <queue>')
    .description('archived tasks of a queue, the newest segments first')
    .option('--state <state>', 'done, dead, cancelled or expired')
    .option('--tenant <tenant>', 'whose tasks')
    .option('--unique-key <key>', 'that had this key')
    .option('--worker <worker>', 'whose worker had them last')
    .option('--error <text>', 'dead of this, in full')
    .option('--from <instant>', 'made then or later')
    .option('--to <instant>', 'made before that')
    .option('--limit <count>', 'so many at most', whole(1, 1_000_000), 100)
    .action((queue: string, _given, command: Command) => ls(queue, optionsOf(command)));
}
