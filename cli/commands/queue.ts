import type { Command } from 'commander';
import type { Answer } from '../../client/wire.ts';
import { Failure } from '../../migrate/failure.ts';
import { mustHave, withApi } from '../api.ts';
import { note, type Options, optionsOf, print } from '../output.ts';
import { table } from '../table.ts';

const apart = ['name', 'ready', 'running', 'waiting', 'dead', 'oldest_ready_at', 'created_at'];

const shown = (value: unknown) =>
  value === null ? null : typeof value === 'object' ? JSON.stringify(value) : String(value);

function describe(policy: Answer<'PUT /v1/queues/{queue}'>): string {
  const settings = Object.entries(policy)
    .filter(([name]) => !apart.includes(name))
    .sort(([a], [b]) => (a < b ? -1 : 1));
  return table([
    ['setting', policy.name],
    ...settings.map(([name, value]) => [name, shown(value)]),
  ]);
}

/** name=value, where a value is JSON or, when it isn't, text. */
function setting(given: string): [string, unknown] {
  const at = given.indexOf('=');
  if (at < 1) {
    throw new Failure(`${given} is no setting.`, 'Give name=value, such as max_attempts=5.', 2);
  }
  const [name, value] = [given.slice(0, at), given.slice(at + 1)];
  try {
    return [name, JSON.parse(value)];
  } catch {
    return [name, value];
  }
}

async function put(queue: string, settings: object, options: Options, said?: string) {
  const policy = await withApi(options, (api) =>
    api.call('PUT /v1/queues/{queue}', { path: { queue }, body: settings }),
  ).catch((error: unknown) => {
    if (!(error instanceof Failure)) throw error;
    // Settings are given by their own names.
    const said = error.message.replace(/^--[a-z-]+/, (option) =>
      option.slice(2).replaceAll('-', '_'),
    );
    throw new Failure(
      said.replace('\nAdd --help to see what it takes.', ''),
      undefined,
      error.exitCode,
    );
  });
  print(options, policy, () => (said ? `${said}\n` : describe(policy)));
}

/** Of one that is there: one whose name is mistyped would be made, and the other go on. */
async function pause(queue: string, paused: boolean, options: Options) {
  await withApi(options, (api) => mustHave(api, queue));
  await put(queue, { paused }, options, `${queue} ${paused ? 'is paused' : 'goes on'}`);
}

async function show(queue: string, options: Options) {
  const policy = await withApi(options, (api) =>
    api.find('GET /v1/queues/{queue}', { path: { queue } }),
  );
  if (!policy) throw new Failure(`There is no queue ${queue}.`, 'See: tock queue list', 3);
  print(options, policy, () => describe(policy));
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
  note(options, rows.length === 0 && 'No queues yet: tock enqueue makes one.');
}

export function addQueue(program: Command): void {
  const queue = program.command('queue').description('list, show, set, pause and resume queues');
  queue
    .command('list')
    .description('all queues and how much is in each')
    .action((_given, command: Command) => list(optionsOf(command)));
  queue
    .command('show <queue>')
    .description('the settings of a queue; * is what new ones start with')
    .action((name: string, _given, command: Command) => show(name, optionsOf(command)));
  queue
    .command('set <queue> <setting...>')
    .description(
      'make a queue, or change settings: max_attempts=5 rate_limit=null push=\'{"url": …}\'',
    )
    .action((name: string, given: string[], _options, command: Command) =>
      put(name, Object.fromEntries(given.map(setting)), optionsOf(command)),
    );
  queue
    .command('pause <queue>')
    .description('hand out none of its tasks; it takes more, and what runs goes on')
    .action((name: string, _given, command: Command) => pause(name, true, optionsOf(command)));
  queue
    .command('resume <queue>')
    .description('hand out its tasks again')
    .action((name: string, _given, command: Command) => pause(name, false, optionsOf(command)));
}
