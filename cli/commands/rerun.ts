import { randomUUID } from 'node:crypto';
import type { Command } from 'commander';
import type { Answer } from '../../client/wire.ts';
import { Failure } from '../../migrate/failure.ts';
import { mustHave, withApi } from '../api.ts';
import { checkedId } from '../given.ts';
import { type Options, optionsOf, print } from '../output.ts';
import { type Bar, withBar } from '../progress.ts';
import { some } from '../table.ts';

type Rerun = Answer<'POST /v1/tasks/rerun'>['tasks'][number];
type Redriven = Answer<'POST /v1/queues/{queue}/redrive'>;
type Given = { requestId?: string; reason?: string };
type Redriving = Given & { error?: string; tenant?: string; to?: string; again?: boolean };

const callIds = 10_000;

function said({ id, state, rerun_id, refused }: Rerun): string {
  if (rerun_id) return `${id} runs again as ${rerun_id}\n`;
  return refused === 'erased' ? `${id} has been erased\n` : `${id} has not ended: it is ${state}\n`;
}

async function rerun(given: string[], options: Options<Given>) {
  const { requestId = randomUUID(), reason } = options;
  const ids = [...new Set(given.map(checkedId))];
  const tasks: Rerun[] = [];
  const work = (shown: Bar) =>
    withApi(options, async (api) => {
      for (let at = 0; at < ids.length; at += callIds) {
        const some = ids.slice(at, at + callIds);
        const body = { ids: some, request_id: `${requestId}:${at}`, reason };
        tasks.push(...(await api.call('POST /v1/tasks/rerun', { body })).tasks);
        shown.add(some.length);
      }
    });
  await withBar(options, 'Rerun', ids.length, work);
  print(options, { tasks }, () => tasks.map(said).join(''));
  const missing = ids.length - tasks.length;
  if (missing > 0) throw new Failure(`${missing} of ${ids.length} are no tasks.`, undefined, 3);
  const refused = tasks.filter((task) => task.refused).length;
  if (refused > 0) throw new Failure(`${refused} of ${ids.length} can't be run again.`);
}

/** Call by call, each repeated under a request id of its own. */
async function redrive(queue: string, options: Options<Redriving>) {
  const { error, tenant, to, again, reason, requestId = randomUUID() } = options;
  const ids: string[] = [];
  let cursor: string | null = null;
  let call = 0;
  const work = (shown: Bar) =>
    withApi(options, async (api) => {
      do {
        const request_id = `${requestId}:${++call}`;
        const body = { error, tenant, to_queue: to, again, reason, request_id, cursor };
        const given = { path: { queue }, body };
        const part: Redriven = await api.call('POST /v1/queues/{queue}/redrive', given);
        ids.push(...part.ids);
        shown.add(part.ids.length);
        cursor = part.cursor;
      } while (cursor !== null);
      if (ids.length === 0) await mustHave(api, queue);
    });
  await withBar(options, `Dead tasks of ${queue} that run again`, null, work);
  print(
    options,
    { redriven: ids.length, ids },
    () => `${some(ids.length, 'dead task runs', 'dead tasks run')} again\n`,
  );
}

export function addRerun(program: Command): void {
  const request = ['--request-id <id>', 'a repeat with the same id runs nothing twice (24 hours)'];
  const why = ['--reason <text>', 'is kept with each'];
  program
    .command('rerun <id...>')
    .description('run ended tasks again, each as a new task')
    .option(request[0] as string, request[1])
    .option(why[0] as string, why[1])
    .action((ids: string[], _given, command: Command) => rerun(ids, optionsOf(command)));
  program
    .command('redrive <queue>')
    .description('run dead tasks of a queue again, all that have not been yet')
    .option('--error <text>', 'only those whose error says so, as tock dead shows it')
    .option('--tenant <tenant>', 'only those of a tenant')
    .option('--to <queue>', 'in another queue')
    .option('--again', 'those that have been run again before, too')
    .option(request[0] as string, request[1])
    .option(why[0] as string, why[1])
    .action((queue: string, _given, command: Command) => redrive(queue, optionsOf(command)));
}
