import type { Command } from 'commander';
import type { Answer } from '../../client/wire.ts';
import { requireQueue, withApi } from '../api.ts';
import { number } from '../arguments.ts';
import { type Options, optionsOf, print } from '../output.ts';
import { type Bar, withBar } from '../progress.ts';
import { plural } from '../table.ts';

type ChangedPart = Answer<'POST /v1/queues/{queue}/cancel'>;
type Flags = { state?: string; tenant?: string };

async function changeWhere(queue: string, options: Options<Flags>, priority?: number) {
  const { state, tenant } = options;
  let changed = 0;
  let cursor: string | null = null;
  const work = (progress: Bar) =>
    withApi(options, async (api) => {
      const path = { queue };
      do {
        const body = { state, tenant, cursor };
        const answer: ChangedPart = await (priority === undefined
          ? api.call('POST /v1/queues/{queue}/cancel', { path, body })
          : api.call('POST /v1/queues/{queue}/reprioritize', {
              path,
              body: { ...body, priority },
            }));
        changed += answer.changed;
        progress.add(answer.changed);
        cursor = answer.cursor;
      } while (cursor !== null);
      if (changed === 0) await requireQueue(api, queue);
    });
  await withBar(options, `Tasks of ${queue}`, null, work);
  const done = priority === undefined ? 'cancelled' : `now have priority ${priority}`;
  print(options, { changed }, () => `${plural(changed, 'task is', 'tasks are')} ${done}\n`);
}

export function addBulkChanges(program: Command): void {
  const state = 'waiting, ready or running; default: waiting and ready';
  program
    .command('cancel-where <queue>')
    .description('cancel the tasks of a queue, all or by state and tenant')
    .option('--state <state>', state)
    .option('--tenant <tenant>', 'tasks of this tenant')
    .action((queue: string, _options, command: Command) => changeWhere(queue, optionsOf(command)));
  program
    .command('reprioritize-where <queue>')
    .description("change the priority of a queue's tasks, all or by state and tenant")
    .requiredOption('--priority <0-9>', '0 is the highest priority', number)
    .option('--state <state>', state)
    .option('--tenant <tenant>', 'tasks of this tenant')
    .action((queue: string, _options, command: Command) => {
      const options: Options<Flags & { priority: number }> = optionsOf(command);
      return changeWhere(queue, options, options.priority);
    });
}
