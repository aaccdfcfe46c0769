import type { Command } from 'commander';
import { Failure } from '../../migrate/failure.ts';
import { mustHave, withApi } from '../api.ts';
import { type Options, optionsOf, print } from '../output.ts';
import { type Bar, withBar } from '../progress.ts';
import { some } from '../table.ts';

/** Streams that others keep for longer than this are left to them. */
const mostBusyCalls = 50;

async function purge(queue: string, options: Options<{ state?: string }>) {
  const all = { ready: 0, waiting: 0, busy: 0, more: true };
  let busy = 0;
  const work = (shown: Bar) =>
    withApi(options, async (api) => {
      const given = { path: { queue }, body: { state: options.state } };
      while (all.more && busy < mostBusyCalls) {
        const part = await api.call('POST /v1/queues/{queue}/purge', given);
        all.ready += part.ready;
        all.waiting += part.waiting;
        shown.add(part.ready + part.waiting);
        all.busy = part.busy;
        all.more = part.more;
        if (part.busy > 0) {
          busy++;
          await new Promise((wake) => setTimeout(wake, 100));
        }
      }
      if (all.ready + all.waiting === 0) await mustHave(api, queue);
    });
  await withBar(options, `Tasks of ${queue}`, null, work);
  const cancelled = `${some(all.ready, 'ready task')} and ${some(all.waiting, 'waiting task')}`;
  print(options, all, () => `${cancelled} are cancelled\n`);
  if (all.more) {
    const next = 'A claim is left open in a transaction there: see tock doctor, then purge again.';
    const busy = some(all.busy, `stream of ${queue} is`, `streams of ${queue} are`);
    throw new Failure(`${busy} being claimed from.`, next);
  }
}

async function drop(queue: string, options: Options<{ force?: boolean }>) {
  const given = { path: { queue }, query: { force: options.force ?? false } };
  const left = await withApi(options, (api) => api.find('DELETE /v1/queues/{queue}', given));
  if (!left) throw new Failure(`There is no queue ${queue}.`, 'See: tock status', 3);
  print(options, left, () => (left.dropped ? `${queue} is dropped\n` : ''));
  if (left.dropped) return;
  const said = `${left.running} run, ${left.ready} are ready, ${left.waiting} wait`;
  throw new Failure(`${queue} is not dropped yet: ${said}.`, 'Drop it again when they have ended.');
}

export function addPurge(program: Command): void {
  program
    .command('purge <queue>')
    .description('cancel all that is ready and waiting in a queue, for good')
    .option('--state <state>', 'only what is ready, or waiting')
    .action((queue: string, _given, command: Command) => purge(queue, optionsOf(command)));
  program
    .command('drop <queue>')
    .description('purge a paused queue and take it away')
    .option('--force', 'also when it is not paused')
    .action((queue: string, _given, command: Command) => drop(queue, optionsOf(command)));
}
