import type { Command } from 'commander';
import type { Answer } from '../../client/wire.ts';
import { requireQueue, withApi } from '../api.ts';
import { wholeNumber } from '../arguments.ts';
import { note, type Options, optionsOf, print } from '../output.ts';
import { moment, table } from '../table.ts';

type Point = Answer<'GET /v1/series'>['points'][number];
type Range = { from?: string; to?: string; step?: number };

const formatSeconds = (seconds: number | null) =>
  seconds === null ? null : `${Number(seconds.toPrecision(2))} s`;

function row(point: Point) {
  const { at, enqueued, done, failed, lost, dead, ready, running, waiting, wait, run } = point;
  const counts = [enqueued, done, failed, lost, dead, ready, running, waiting];
  return [
    moment(at)?.slice(0, 16),
    ...counts,
    formatSeconds(wait.p95),
    formatSeconds(run.mean),
    formatSeconds(run.p95),
  ];
}

const cells = [
  'enqueued',
  'done',
  'failed',
  'lost',
  'dead',
  'ready',
  'running',
  'waiting',
] as const;
const heading = ['time (UTC)', ...cells, 'wait p95', 'run mean', 'run p95'];

const isAny = (point: Point) => cells.some((name) => point[name]);

async function series(queue: string | undefined, options: Options<Range>) {
  const { from, to, step } = options;
  const query = { from, to, step_seconds: step };
  const all = await withApi(options, async (api) => {
    if (queue === undefined) return api.call('GET /v1/series', { query });
    const answer = await api.call('GET /v1/queues/{queue}/series', { path: { queue }, query });
    if (!answer.points.some(isAny)) await requireQueue(api, queue);
    return answer;
  });
  // The points before the first collected metrics are empty.
  const first = all.points.findIndex((point) => isAny(point) || point.ready !== null);
  const points = first < 0 ? [] : all.points.slice(first);
  print(options, all, () => table([heading, ...points.map(row)]));
  note(options, first < 0 && 'There are no metrics for this time.');
}

export function addSeries(program: Command): void {
  program
    .command('series [queue]')
    .description(
      'show the activity of a queue, or of all together, in points of a minute or longer',
    )
    .option('--from <instant>', 'default: an hour ago')
    .option('--to <instant>', 'default: now')
    .option('--step <seconds>', 'a multiple of 60', wholeNumber(60, 31_536_000))
    .action((queue: string | undefined, _options, command: Command) =>
      series(queue, optionsOf(command)),
    );
  program
    .command('metrics')
    .description('print the metrics of all queues in the text format of Prometheus')
    .action(async (_options, command: Command) => {
      const options = optionsOf(command);
      const parse = (text: string) => (text.startsWith('# HELP tock_') ? { text } : null);
      const { text: metrics } = (await withApi(options, (api) =>
        api.call('GET /metrics', { parse }),
      )) as unknown as { text: string };
      print(options, { metrics }, () => metrics);
    });
}
