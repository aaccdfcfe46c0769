import type { Command } from 'commander';
import type { Answer } from '../../client/wire.ts';
import { mustHave, withApi } from '../api.ts';
import { whole } from '../given.ts';
import { note, type Options, optionsOf, print } from '../output.ts';
import { moment, table } from '../table.ts';

type Point = Answer<'GET /v1/series'>['points'][number];
type Span = { from?: string; to?: string; step?: number };

const short = (seconds: number | null) =>
  seconds === null ? null : `${Number(seconds.toPrecision(2))} s`;

function row(point: Point) {
  const { at, enqueued, done, failed, lost, dead, ready, running, waiting, wait, run } = point;
  const counts = [enqueued, done, failed, lost, dead, ready, running, waiting];
  return [moment(at)?.slice(0, 16), ...counts, short(wait.p95), short(run.mean), short(run.p95)];
}

const counted = [
  'enqueued',
  'done',
  'failed',
  'lost',
  'dead',
  'ready',
  'running',
  'waiting',
] as const;
const heading = ['time (UTC)', ...counted, 'wait p95', 'run mean', 'run p95'];

const isAny = (point: Point) => counted.some((name) => point[name]);

async function series(queue: string | undefined, options: Options<Span>) {
  const { from, to, step } = options;
  const query = { from, to, step_seconds: step };
  const all = await withApi(options, async (api) => {
    if (queue === undefined) return api.call('GET /v1/series', { query });
    const found = await api.call('GET /v1/queues/{queue}/series', { path: { queue }, query });
    if (!found.points.some(isAny)) await mustHave(api, queue);
    return found;
  });
  // Before Tock counted there is nothing to show.
  const first = all.points.findIndex((point) => isAny(point) || point.ready !== null);
  const shown = first < 0 ? [] : all.points.slice(first);
  print(options, all, () => table([heading, ...shown.map(row)]));
  note(options, first < 0 && 'Nothing was counted then.');
}

export function addSeries(program: Command): void {
  program
    .command('series [queue]')
    .description('what happened in a queue, or in all together, by the minute or longer')
    .option('--from <instant>', 'an hour ago, unless it is said')
    .option('--to <instant>', 'now, unless it is said')
    .option('--step <seconds>', 'a multiple of 60', whole(60, 31_536_000))
    .action((queue: string | undefined, _given, command: Command) =>
      series(queue, optionsOf(command)),
    );
  program
    .command('metrics')
    .description('every queue in OpenMetrics text, as Prometheus reads it')
    .action(async (_given, command: Command) => {
      const options = optionsOf(command);
      const parse = (text: string) => (text.endsWith('# EOF\n') ? { text } : null);
      const { text: metrics } = (await withApi(options, (api) =>
        api.call('GET /metrics', { parse }),
      )) as unknown as { text: string };
      print(options, { metrics }, () => metrics);
    });
}
