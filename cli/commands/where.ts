import type { Command } from 'commander';
import type { Answer } from '../../client/wire.ts';
import { mustHave, withApi } from '../api.ts';
import { number } from '../given.ts';
import { type Options, optionsOf, print } from '../output.ts';
import { type Bar, withBar } from '../progress.ts';
import { some } from '../table.ts';

type Part = Answer<'POST /v1/queues/{queue}/cancel'>;
type Given = { state?: string; tenant?: string };

async function changeWhere(queue: string, options: Options<Given>, priority?: number) {
  const { state, tenant } = options;
  let changed = 0;
  let cursor: string | null = null;
  const work = (shown: Bar) =>
    withApi(options, async (api) => {
      const path = { queue };
      do {
        const body = { state, tenant, cursor };
        const part: Part = await (priority === undefined
          ? api.call('POST /v1/queues/{queue}/cancel', { path, body })
          : api.call('POST /v1/queues/{queue}/reprioritize', {
              path,
              body: { ...body, priority },
            }));
        changed += part.changed;
        shown.add(part.changed);
        cursor = part.cursor;
      } while (cursor !== null);
      if (changed === 0) await mustHave(api, queue);
    });
  await withBar(options, `Tasks of ${queue}`, null, work);
  const done = priority === undefined ? 'cancelled' : `given priority ${priority}`;
  print(options, { changed }, () => `${some(changed, 'task is', 'tasks are')} ${done}\n`);
}

export function addWhere(program: Command): void {
  const state = 'waiting, ready or running; else waiting and ready ones';
  program
    .command('cancel-where <queue>')
    .description('cancel the tasks of a queue, all or by state and tenant')
    .option('--state <state>', state)
    .option('--tenant <tenant>', 'whose tasks')
    .action((queue: string, _given, command: Command) => changeWhere(queue, optionsOf(command)));
  program
    .command('reprioritize-where <queue>')
    .description('give the tasks of a queue a priority, all or by state and tenant')
    .requiredOption('--priority <0-9>', '0 comes first', number)
    .option('--state <state>', state)
    .option('--tenant <tenant>', 'whose tasks')
    .action((queue: string, _given, command: Command) => {
      const options: Options<Given & { priority: number }> = optionsOf(command);
      return changeWhere(queue, options, options.priority);
    });
}
