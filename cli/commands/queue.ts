import type { Command } from 'commander';
import type { Answer } from '../../client/wire.ts';
import { Failure } from '../../migrate/failure.ts';
import { requireQueue, withApi } from '../api.ts';
import { note, type Options, optionsOf, print } from '../output.ts';
import { table } from '../table.ts';

const apart = 'name ready running waiting dead oldest_ready_at waiting_for created_at'.split(' ');

const format = (value: unknown) =>
  value === null ? null : typeof value === 'object' ? JSON.stringify(value) : String(value);

function describe(policy: Answer<'PUT /v1/queues/{queue}'>): string {
  const settings = Object.entries(policy)
    .filter(([name]) => !apart.includes(name))
    .sort(([a], [b]) => (a < b ? -1 : 1));
  return table([
    ['setting', policy.name],
    ...settings.map(([name, value]) => [name, format(value)]),
  ]);
}

type Ended = Answer<'GET /v1/queues/{queue}/ended'>['states'];

function describeCounts(queue: Answer<'GET /v1/queues/{queue}'>, ended: Ended): string {
  if (!queue.waiting_for) return '';
  const { time, concurrency_key, dependency, child, event } = queue.waiting_for;
  const rows = table([
    ['tasks', ''],
    ['ready', queue.ready],
    ['running', queue.running],
    ['waiting', queue.waiting],
    ['- for their time', time],
    ['- at a concurrency key', concurrency_key],
    ['- for parents', dependency],
    ['- for a child', child],
    ['- for an event', event],
    ['dead', queue.dead],
    ...ended.map(({ state, tasks, counted_all }) => [state, `${tasks}${counted_all ? '' : '+'}`]),
  ]);
  return `\n${rows}`;
}

/** Parses name=value; a value that is not JSON is text. */
function setting(text: string): [string, unknown] {
  const index = text.indexOf('=');
  if (index < 1) {
    throw new Failure(`${text} is not a setting.`, 'Give name=value, such as max_attempts=5.', 2);
  }
  const [name, value] = [text.slice(0, index), text.slice(index + 1)];
  try {
    return [name, JSON.parse(value)];
  } catch {
    return [name, value];
  }
}

async function putQueue(queue: string, settings: object, options: Options, message?: string) {
  const policy = await withApi(options, (api) =>
    api.call('PUT /v1/queues/{queue}', { path: { queue }, body: settings }),
  ).catch((error: unknown) => {
    if (!(error instanceof Failure)) throw error;
    // This command's settings have the names of the fields, not of options.
    const detail = error.message.replace(/^--[a-z-]+/, (option) =>
      option.slice(2).replaceAll('-', '_'),
    );
    throw new Failure(
      detail.replace('\nUse --help to list the options.', ''),
      undefined,
      error.exitCode,
    );
  });
  print(options, policy, () => (message ? `${message}\n` : describe(policy)));
}

/** Pauses or resumes an existing queue. Without the check, a mistyped name would create a queue. */
async function pause(queue: string, paused: boolean, options: Options) {
  await withApi(options, (api) => requireQueue(api, queue));
  await putQueue(queue, { paused }, options, `${queue} ${paused ? 'is paused' : 'is resumed'}`);
}

async function showQueue(queue: string, options: Options) {
  const { policy, ended } = await withApi(options, async (api) => {
    const path = { queue };
    const policy = await api.find('GET /v1/queues/{queue}', { path });
    if (!policy) throw new Failure(`There is no queue ${queue}.`, 'See: tock queue list', 3);
    if (!policy.waiting_for) return { policy, ended: [] };
    const { states } = await api.call('GET /v1/queues/{queue}/ended', { path });
    return { policy, ended: states };
  });
  print(options, { ...policy, ended }, () => describe(policy) + describeCounts(policy, ended));
}

async function list(options: Options) {
  const { queues } = await withApi(options, (api) => api.call('GET /v1/queues'));
  const rows = queues.map((q) => [
    q.name,
    q.ready,
    q.running,
    q.waiting,
    q.dead,
    q.paused ? 'paused' : '',
  ]);
  print(options, { queues }, () =>
    table([['queue', 'ready', 'running', 'waiting', 'dead', ''], ...rows]),
  );
  note(options, rows.length === 0 && 'No queues yet: tock enqueue creates one.');
}

export function addQueue(program: Command): void {
  const queue = program.command('queue').description('list, show, set, pause and resume queues');
  queue
    .command('list')
    .description('list all queues with their counts of tasks')
    .action((_options, command: Command) => list(optionsOf(command)));
  queue
    .command('show <queue>')
    .description('show the settings and counts of a queue; * has the defaults of new queues')
    .action((name: string, _options, command: Command) => showQueue(name, optionsOf(command)));
  queue
    .command('set <queue> <setting...>')
    .description(
      'create a queue, or change settings: max_attempts=5 rate_limit=null push=\'{"url": …}\'',
    )
    .action((name: string, settings: string[], _options, command: Command) =>
      putQueue(name, Object.fromEntries(settings.map(setting)), optionsOf(command)),
    );
  queue
    .command('pause <queue>')
    .description('lease none of its tasks; enqueue still works, and running tasks continue')
    .action((name: string, _options, command: Command) => pause(name, true, optionsOf(command)));
  queue
    .command('resume <queue>')
    .description('allow claims of its tasks again')
    .action((name: string, _options, command: Command) => pause(name, false, optionsOf(command)));
}
