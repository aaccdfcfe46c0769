import type { Command } from 'commander';
import { Failure } from '../../migrate/failure.ts';
import { requireQueue, withApi } from '../api.ts';
import { number } from '../arguments.ts';
import { visibleLine } from '../escape_control.ts';
import { note, type Options, optionsOf, print } from '../output.ts';
import { table } from '../table.ts';

type Flags = { limit?: number; pause?: boolean; resume?: boolean; reset?: boolean };

async function concurrency_keys(queue: string, options: Options) {
  const keys = await withApi(options, async (api) => {
    const { concurrency_keys } = await api.call('GET /v1/queues/{queue}/concurrency-keys', {
      path: { queue },
    });
    if (concurrency_keys.length === 0) await requireQueue(api, queue);
    return concurrency_keys;
  });
  const rows = keys.map((key) => [
    key.concurrency_key,
    key.concurrency_limit,
    key.holders.length,
    key.waiting,
    key.paused ? 'paused' : '',
  ]);
  print(options, { concurrency_keys: keys }, () =>
    table([['key', 'limit', 'holders', 'waiting', ''], ...rows]),
  );
  note(options, keys.length === 0 && 'No task has used a concurrency key.');
}

async function concurrency_key(queue: string, name: string, options: Options<Flags>) {
  const { limit, pause, resume, reset } = options;
  const settings = {
    ...(limit !== undefined && { concurrency_limit: limit }),
    ...((pause || resume) && { paused: !resume }),
  };
  if (pause && resume)
    throw new Failure('--pause and --resume exclude each other: give one.', undefined, 2);
  if (reset && Object.keys(settings).length > 0) {
    throw new Failure('--reset cannot be combined with other options.', undefined, 2);
  }
  const path = { queue, concurrency_key: name };
  const key = await withApi(options, async (api) => {
    if (
      reset &&
      !(await api.find('DELETE /v1/queues/{queue}/concurrency-keys/{concurrency_key}', { path }))
    )
      return null;
    if (Object.keys(settings).length > 0) {
      await api.call('PATCH /v1/queues/{queue}/concurrency-keys/{concurrency_key}', {
        path,
        body: settings,
      });
    }
    return api.find('GET /v1/queues/{queue}/concurrency-keys/{concurrency_key}', { path });
  });
  if (!key) throw new Failure(`Queue ${queue} has no concurrency key ${name}.`, undefined, 3);
  print(options, key, () => {
    const { holders, waiting, concurrency_limit } = key;
    const state = key.paused ? 'paused, ' : '';
    return `${visibleLine(name)}: ${state}${holders.length} of ${concurrency_limit} running, ${waiting} waiting\n`;
  });
}

export function addConcurrencyKey(program: Command): void {
  program
    .command('concurrency <queue>')
    .description("list a queue's concurrency keys with their holders and the number of waiters")
    .action((queue: string, _options, command: Command) =>
      concurrency_keys(queue, optionsOf(command)),
    );
  program
    .command('concurrency-key <queue> <key>')
    .description(
      "show a concurrency key, change its limit, pause it, or restore the queue's settings",
    )
    .option('--limit <n>', 'maximum number of running tasks', number)
    .option('--pause', 'admit no tasks')
    .option('--resume', 'admit tasks again')
    .option('--reset', "restore the queue's settings, not paused, a full bucket")
    .action((queue: string, name: string, _options, command: Command) =>
      concurrency_key(queue, name, optionsOf(command)),
    );
}
