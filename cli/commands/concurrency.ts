import type { Command } from 'commander';
import { Failure } from '../../migrate/failure.ts';
import { mustHave, withApi } from '../api.ts';
import { number } from '../given.ts';
import { note, type Options, optionsOf, print } from '../output.ts';
import { lockWaiting } from '../plain.ts';
import { table } from '../table.ts';

type Given = { limit?: number; pause?: boolean; resume?: boolean; reset?: boolean };

async function concurrency_keys(queue: string, options: Options) {
  const found = await withApi(options, async (api) => {
    const { concurrency_keys } = await api.call('GET /v1/queues/{queue}/concurrency-keys', {
      path: { queue },
    });
    if (concurrency_keys.length === 0) await mustHave(api, queue);
    return concurrency_keys;
  });
  const rows = found.map((one) => [
    one.concurrency_key,
    one.concurrency_limit,
    one.holders.length,
    one.waiting,
    one.paused ? 'paused' : '',
  ]);
  print(options, { concurrency_keys: found }, () =>
    table([['key', 'limit', 'holders', 'waiting', ''], ...rows]),
  );
  note(options, found.length === 0 && 'No task has named a concurrency key.');
}

async function concurrency_key(queue: string, name: string, given: Options<Given>) {
  const { limit, pause, resume, reset } = given;
  const settings = {
    ...(limit !== undefined && { concurrency_limit: limit }),
    ...((pause || resume) && { paused: !resume }),
  };
  if (pause && resume) throw new Failure('Give --pause or --resume, not both.', undefined, 2);
  if (reset && Object.keys(settings).length > 0) {
    throw new Failure('--reset goes alone.', undefined, 2);
  }
  const path = { queue, concurrency_key: name };
  const found = await withApi(given, async (api) => {
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
  if (!found) throw new Failure(`Queue ${queue} has no concurrency key ${name}.`, undefined, 3);
  print(given, found, () => {
    const { holders, waiting, concurrency_limit } = found;
    const state = found.paused ? 'paused, ' : '';
    return `${lockWaiting(name)}: ${state}${holders.length} of ${concurrency_limit} inside, ${waiting} waiting\n`;
  });
}

export function addConcurrencyKey(program: Command): void {
  program
    .command('concurrency <queue>')
    .description("a queue's concurrency keys: who is inside, and how many wait")
    .action((queue: string, _given, command: Command) =>
      concurrency_keys(queue, optionsOf(command)),
    );
  program
    .command('concurrency-key <queue> <key>')
    .description('show a concurrency key, resize it, pause it, or have it go by its queue again')
    .option('--limit <n>', 'how many may be inside', number)
    .option('--pause', 'let nobody in')
    .option('--resume', 'let them in again')
    .option('--reset', "the queue's settings, not paused, a full bucket")
    .action((queue: string, name: string, _given, command: Command) =>
      concurrency_key(queue, name, optionsOf(command)),
    );
}
