import { randomUUID } from 'node:crypto';
import type { Command } from 'commander';
import type { Answer } from '../../client/wire.ts';
import { Failure } from '../../migrate/failure.ts';
import { requireQueue, withApi } from '../api.ts';
import { checkedId } from '../arguments.ts';
import { type Options, optionsOf, print } from '../output.ts';
import { type Bar, withBar } from '../progress.ts';
import { plural } from '../table.ts';
import { backgroundOption, startInBackground } from './bulk_changes.ts';

type Rerun = Answer<'POST /v1/tasks/rerun'>['tasks'][number];
type Redriven = Answer<'POST /v1/queues/{queue}/redrive'>;
type Flags = { requestId?: string; reason?: string; unlessRerun?: boolean; fromStep?: string };
type Redriving = Flags & {
  error?: string;
  tenant?: string;
  to?: string;
  again?: boolean;
  background?: boolean;
};

const callIds = 10_000;

function describe({ id, state, rerun_id, refused }: Rerun): string {
  if (rerun_id) return `${id} is rerun as ${rerun_id}\n`;
  if (refused === 'rerun') return `${id} has a rerun already\n`;
  return refused === 'erased' ? `${id} has been erased\n` : `${id} has not ended: it is ${state}\n`;
}

async function rerun(idTexts: string[], options: Options<Flags>) {
  const { requestId = randomUUID(), reason, unlessRerun, fromStep } = options;
  const ids = [...new Set(idTexts.map(checkedId))];
  const tasks: Rerun[] = [];
  const work = (progress: Bar) =>
    withApi(options, async (api) => {
      for (let offset = 0; offset < ids.length; offset += callIds) {
        const batch = ids.slice(offset, offset + callIds);
        const again = unlessRerun ? false : undefined;
        const request_id = `${requestId}:${offset}`;
        const body = { ids: batch, request_id, reason, again, from_step: fromStep };
        tasks.push(...(await api.call('POST /v1/tasks/rerun', { body })).tasks);
        progress.add(batch.length);
      }
    });
  await withBar(options, 'Rerun', ids.length, work);
  print(options, { tasks }, () => tasks.map(describe).join(''));
  const missing = ids.length - tasks.length;
  if (missing > 0)
    throw new Failure(`${missing} of ${ids.length} ids are not tasks.`, undefined, 3);
  const refused = tasks.filter((task) => task.refused).length;
  if (refused > 0) throw new Failure(`${refused} of ${ids.length} tasks cannot be rerun.`);
}

/** Reruns dead tasks page by page. Each call has a request id of its own, so a retry is safe. */
async function redrive(queue: string, options: Options<Redriving>) {
  const { error, tenant, to, again, reason, requestId = randomUUID() } = options;
  if (options.background) {
    const body = { error, tenant, to_queue: to, again, reason, request_id: requestId };
    return startInBackground(queue, options, { change: 'redrive', ...body });
  }
  const ids: string[] = [];
  let cursor: string | null = null;
  let call = 0;
  const work = (progress: Bar) =>
    withApi(options, async (api) => {
      do {
        const request_id = `${requestId}:${++call}`;
        const body = { error, tenant, to_queue: to, again, reason, request_id, cursor };
        const input = { path: { queue }, body };
        const answer: Redriven = await api.call('POST /v1/queues/{queue}/redrive', input);
        ids.push(...answer.ids);
        progress.add(answer.ids.length);
        cursor = answer.cursor;
      } while (cursor !== null);
      if (ids.length === 0) await requireQueue(api, queue);
    });
  await withBar(options, `Dead tasks of ${queue} to rerun`, null, work);
  print(
    options,
    { redriven: ids.length, ids },
    () => `${plural(ids.length, 'dead task is rerun', 'dead tasks are rerun')} again\n`,
  );
}

export function addRerun(program: Command): void {
  const request = [
    '--request-id <id>',
    'with the same id a repeated call reruns nothing twice (for 24 hours)',
  ];
  const why = ['--reason <text>', 'stored with each task'];
  program
    .command('rerun <id...>')
    .description('rerun ended tasks, each as a new task')
    .option('--unless-rerun', 'leave out tasks that have a rerun already')
    .option('--from-step <name>', 'keep the steps that were saved before this one (one task)')
    .option(request[0] as string, request[1])
    .option(why[0] as string, why[1])
    .action((ids: string[], _options, command: Command) => rerun(ids, optionsOf(command)));
  program
    .command('redrive <queue>')
    .description('rerun dead tasks of a queue that have not been rerun')
    .option('--error <text>', 'only tasks with this error, as tock dead shows it')
    .option('--tenant <tenant>', 'only tasks of this tenant')
    .option('--to <queue>', 'add the new tasks to this queue')
    .option('--again', 'also tasks that were rerun before')
    .option(...backgroundOption)
    .option(request[0] as string, request[1])
    .option(why[0] as string, why[1])
    .action((queue: string, _options, command: Command) => redrive(queue, optionsOf(command)));
}
