import type { Answer } from '../../client/wire.ts';
import { duration, rate, short } from '../format.ts';
import { useLive } from '../live.ts';
import { href, type Place } from '../route.ts';
import { Chart } from './chart.tsx';
import { Shown, Updated } from './small.tsx';

type Point = Answer<'GET /v1/queues/{queue}/series'>['points'][number];

const ranges: [name: string, seconds: number, step: number][] = [
  ['1h', 3600, 60],
  ['6h', 21_600, 60],
  ['24h', 86_400, 300],
  ['7d', 604_800, 3600],
];

const minute = 60_000;

/** Of whole minutes, so that the address stays the same within one. */
const since = (seconds: number) =>
  new Date(Math.floor((Date.now() - seconds * 1000) / minute) * minute).toISOString();

const percentiles = (points: Point[], of: (point: Point) => Point['wait']) => [
  { name: 'p50', colour: '--line-1', values: points.map((p) => of(p).p50) },
  { name: 'p95', colour: '--line-2', values: points.map((p) => of(p).p95), dash: [6, 3] },
  { name: 'p99', colour: '--line-3', values: points.map((p) => of(p).p99), dash: [2, 3] },
];

function Charts({ points, step }: { points: Point[]; step: number }) {
  const at = points.map((point) => point.at);
  const bySecond = (of: (point: Point) => number) => points.map((point) => of(point) / step);
  return (
    <div class="charts">
      <Chart
        title="Depth"
        at={at}
        show={short}
        whole
        lines={[
          { name: 'ready', colour: '--line-1', values: points.map((p) => p.ready) },
          {
            name: 'running',
            colour: '--line-2',
            values: points.map((p) => p.running),
            dash: [6, 3],
          },
          {
            name: 'waiting',
            colour: '--line-3',
            values: points.map((p) => p.waiting),
            dash: [2, 3],
          },
        ]}
      />
      <Chart
        title="Oldest ready"
        at={at}
        show={duration}
        lines={[
          { name: 'age', colour: '--line-1', values: points.map((p) => p.oldest_ready_seconds) },
        ]}
      />
      <Chart
        title="By the second"
        at={at}
        show={rate}
        least={0.1}
        lines={[
          { name: 'enqueued', colour: '--line-1', values: bySecond((p) => p.enqueued) },
          { name: 'done', colour: '--line-4', values: bySecond((p) => p.done) },
          { name: 'failed', colour: '--line-5', values: bySecond((p) => p.failed), dash: [6, 3] },
          { name: 'lost', colour: '--line-3', values: bySecond((p) => p.lost), dash: [2, 3] },
        ]}
      />
      <Chart
        title="Wait before the start"
        at={at}
        show={duration}
        lines={percentiles(points, (p) => p.wait)}
      />
      <Chart title="Run" at={at} show={duration} lines={percentiles(points, (p) => p.run)} />
    </div>
  );
}

/** How a queue went lately. */
export function QueueCharts({ queue, place }: { queue: string; place: Place }) {
  const wanted = place.query.get('range');
  const [range, seconds, step] = ranges.find(([name]) => name === wanted) ??
    ranges[0] ?? ['1h', 3600, 60];
  const query = { from: since(seconds), step_seconds: step };
  const live = useLive('GET /v1/queues/{queue}/series', { path: { queue }, query }, 10_000);
  return (
    <section class="panel">
      <header>
        <h2>How it went</h2>
        <nav class="ranges" aria-label="Time">
          {ranges.map(([name]) => (
            <a
              key={name}
              href={href(['queues', queue], { range: name })}
              aria-current={name === range ? 'true' : undefined}
            >
              {name}
            </a>
          ))}
        </nav>
        <Updated at={live.at} />
      </header>
      <Shown live={live}>
        {({ points, step_seconds }) =>
          points.length > 1 ? (
            <Charts points={points} step={step_seconds} />
          ) : (
            <p class="none">Nothing was counted yet: that happens once a minute.</p>
          )
        }
      </Shown>
    </section>
  );
}
