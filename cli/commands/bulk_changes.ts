import { randomUUID } from 'node:crypto';
import type { Command } from 'commander';
import type { Answer, Body } from '../../client/wire.ts';
import { Failure } from '../../migrate/failure.ts';
import { type Api, requireQueue, withApi } from '../api.ts';
import { number, wholeNumber } from '../arguments.ts';
import { note, type Options, optionsOf, print } from '../output.ts';
import { type Bar, withBar } from '../progress.ts';
import { moment, plural, table } from '../table.ts';

type ChangedPart = Answer<'POST /v1/queues/{queue}/cancel'>;
type Started = Body<'POST /v1/queues/{queue}/bulk-changes'>;
type BulkChange = Answer<'GET /v1/bulk-changes/{id}'>;
type Flags = Pick<Started, 'state'> & { tenant?: string; background?: boolean };
type Listing = { queue?: string; stop?: boolean; before?: string; limit: number };

/** The option with which the database goes on with a change after the command. */
export const backgroundOption = [
  '--background',
  'start the change and return; the database does it',
] as const;

/** Starts a change that the database goes on with. */
export async function startInBackground(queue: string, options: Options, body: Started) {
  const { id } = await withApi(options, async (api) => {
    await requireQueue(api, queue);
    return api.call('POST /v1/queues/{queue}/bulk-changes', {
      path: { queue },
      body: { ...body, request_id: body.request_id ?? randomUUID() },
    });
  });
  print(options, { id }, () => `bulk change ${id} has started: tock bulk-changes ${id}\n`);
}

async function changeWhere(queue: string, options: Options<Flags>, priority?: number) {
  const { state, tenant, background } = options;
  if (background) {
    const change = priority === undefined ? 'cancel' : 'reprioritize';
    return startInBackground(queue, options, { change, state, tenant, priority });
  }
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
  const tasks = plural(changed, 'task');
  print(options, { changed }, () =>
    priority === undefined
      ? `${tasks} ${changed === 1 ? 'is' : 'are'} cancelled\n`
      : `${tasks} now ${changed === 1 ? 'has' : 'have'} priority ${priority}\n`,
  );
}

const row = (change: BulkChange) => [
  change.id,
  change.change,
  change.queue,
  JSON.stringify({ ...change.filter, ...change.options }),
  change.state,
  change.changed,
  moment(change.created_at),
  change.key ? `${change.key} (${change.key_name})` : change.role,
  moment(change.ended_at),
  change.error,
];

const describe = (changes: BulkChange[]) =>
  table([
    ['id', 'change', 'queue', 'of', 'state', 'changed', 'started', 'by', 'ended', 'error'],
    ...changes.map(row),
  ]);

async function find(api: Api, id: string): Promise<BulkChange> {
  const change = await api.find('GET /v1/bulk-changes/{id}', { path: { id } });
  if (change) return change;
  throw new Failure(`There is no bulk change ${id}.`, 'See: tock bulk-changes', 3);
}

async function bulkChanges(id: string | undefined, options: Options<Listing>) {
  const { queue, stop, before, limit } = options;
  if (id !== undefined) {
    const change = await withApi(options, async (api) => {
      if (stop) await api.find('POST /v1/bulk-changes/{id}/stop', { path: { id } });
      return find(api, id);
    });
    return print(options, change, () => describe([change]));
  }
  if (stop) throw new Failure('--stop needs the id of a bulk change.', undefined, 2);
  const { bulk_changes } = await withApi(options, (api) =>
    api.call('GET /v1/bulk-changes', { query: { queue, before, limit } }),
  );
  print(options, bulk_changes, () => describe(bulk_changes));
  const last = bulk_changes.at(-1)?.id;
  note(options, bulk_changes.length >= limit && `There may be more: --before ${last}`);
}

export function addBulkChanges(program: Command): void {
  const state = 'waiting, ready or running; default: waiting and ready';
  program
    .command('cancel-where <queue>')
    .description('cancel the tasks of a queue, all or by state and tenant')
    .option('--state <state>', state)
    .option('--tenant <tenant>', 'tasks of this tenant')
    .option(...backgroundOption)
    .action((queue: string, _options, command: Command) => changeWhere(queue, optionsOf(command)));
  program
    .command('reprioritize-where <queue>')
    .description("change the priority of a queue's tasks, all or by state and tenant")
    .requiredOption('--priority <0-9>', '0 is the highest priority', number)
    .option('--state <state>', state)
    .option('--tenant <tenant>', 'tasks of this tenant')
    .option(...backgroundOption)
    .action((queue: string, _options, command: Command) => {
      const options: Options<Flags & { priority: number }> = optionsOf(command);
      return changeWhere(queue, options, options.priority);
    });
  program
    .command('bulk-changes [id]')
    .description('list bulk changes in the background, newest first; with an id show or stop one')
    .option('--queue <queue>', 'changes of this queue')
    .option('--stop', 'stop the change with this id before its next page')
    .option('--before <id>', 'changes with a lower id')
    .option('--limit <n>', 'maximum number of changes', wholeNumber(1, 1000), 20)
    .action((id: string | undefined, _options, command: Command) =>
      bulkChanges(id, optionsOf(command)),
    );
}
