import type { Command } from 'commander';
import { Failure } from '../../migrate/failure.ts';
import { requireQueue, withApi } from '../api.ts';
import { type Options, optionsOf, print } from '../output.ts';
import { type Bar, withBar } from '../progress.ts';
import { plural } from '../table.ts';

/** After this many calls in which other transactions lock streams, purge gives up. */
const MAX_BUSY_CALLS = 50;

async function purge(queue: string, options: Options<{ state?: string }>) {
  const all = { ready: 0, waiting: 0, busy: 0, more: true };
  let busy = 0;
  const work = (progress: Bar) =>
    withApi(options, async (api) => {
      const input = { path: { queue }, body: { state: options.state } };
      while (all.more && busy < MAX_BUSY_CALLS) {
        const answer = await api.call('POST /v1/queues/{queue}/purge', input);
        all.ready += answer.ready;
        all.waiting += answer.waiting;
        progress.add(answer.ready + answer.waiting);
        all.busy = answer.busy;
        all.more = answer.more;
        if (answer.busy > 0) {
          busy++;
          await new Promise((resolve) => setTimeout(resolve, 100));
        }
      }
      if (all.ready + all.waiting === 0) await requireQueue(api, queue);
    });
  await withBar(options, `Tasks of ${queue}`, null, work);
  const cancelled = `${plural(all.ready, 'ready task')} and ${plural(all.waiting, 'waiting task')}`;
  print(options, all, () => `${cancelled} are cancelled\n`);
  if (all.more) {
    const next = "A claim's transaction is still open on them: see tock doctor, then purge again.";
    const busy = plural(all.busy, `stream of ${queue} is`, `streams of ${queue} are`);
    throw new Failure(`${busy} locked by claims.`, next);
  }
}

async function drop(queue: string, options: Options<{ force?: boolean }>) {
  const input = { path: { queue }, query: { force: options.force ?? false } };
  const unfinished = await withApi(options, (api) => api.find('DELETE /v1/queues/{queue}', input));
  if (!unfinished) throw new Failure(`There is no queue ${queue}.`, 'See: tock status', 3);
  print(options, unfinished, () => (unfinished.dropped ? `${queue} is dropped\n` : ''));
  if (unfinished.dropped) return;
  const counts = `${unfinished.running} running, ${unfinished.ready} ready, ${unfinished.waiting} waiting`;
  throw new Failure(
    `${queue} is not dropped yet: ${counts}.`,
    'Drop it again when these tasks have ended.',
  );
}

export function addPurge(program: Command): void {
  program
    .command('purge <queue>')
    .description("permanently cancel a queue's ready and waiting tasks")
    .option('--state <state>', 'only ready or only waiting tasks')
    .action((queue: string, _options, command: Command) => purge(queue, optionsOf(command)));
  program
    .command('drop <queue>')
    .description('purge a paused queue and drop it')
    .option('--force', 'even if it is not paused')
    .action((queue: string, _options, command: Command) => drop(queue, optionsOf(command)));
}
