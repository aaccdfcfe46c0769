import type { Command } from 'commander';
import type { Answer } from '../../client/wire.ts';
import { mustHave, withApi } from '../api.ts';
import { note, type Options, optionsOf, print } from '../output.ts';
import { span, table } from '../table.ts';

type Hour = Answer<'GET /v1/queues/{queue}/hours'>['hours'][number];
type Given = { from?: string; to?: string };

function describe(hours: Hour[]): string {
  const rows = hours.map((one) => {
    const at = new Date(one.hour).toISOString().replace('T', ' ').slice(0, 16);
    const mean = one.mean_seconds === null ? null : `${one.mean_seconds.toFixed(1)} s`;
    return [at, one.done, span(one.total_seconds), mean, one.failed, one.lost];
  });
  const heading = ['hour (UTC)', 'done', 'in all', 'mean', 'failed', 'lost'];
  return table([heading, ...rows]);
}

async function show(queue: string, options: Options<Given>) {
  const { from, to } = options;
  const hours = await withApi(options, async (api) => {
    const given = { path: { queue }, query: { from, to } };
    const found = (await api.call('GET /v1/queues/{queue}/hours', given)).hours;
    if (found.length === 0) await mustHave(api, queue);
    return found;
  });
  print(options, hours, () => describe(hours));
  note(options, hours.length === 0 && `Nothing ended in ${queue} in these hours.`);
  const more = 'There was more than could be read at once: these are fewer than ended.';
  note(options, hours.some((one) => one.partial) && more);
}

export function addHours(program: Command): void {
  program
    .command('hours <queue>')
    .description('what ended in a queue by the hour, with durations; by default of a day')
    .option('--from <instant>', 'from this hour on, like 2030-01-31T09:00:00Z')
    .option('--to <instant>', 'before that')
    .action((queue: string, _given, command: Command) => show(queue, optionsOf(command)));
}
