import { useRef } from 'preact/hooks';
import type { Answer } from '../../client/wire.ts';
import { about, count, duration, rate, shortNumber } from '../format.ts';
import { isPaused } from '../pause.ts';
import { usePolling } from '../polling.ts';
import { type Address, href } from '../route.ts';
import { Chart } from './chart.tsx';
import { PolledContent } from './panel.tsx';
import { Updated } from './times.tsx';

type Point = Answer<'GET /v1/queues/{queue}/series'>['points'][number];

const ranges: [name: string, seconds: number, step: number][] = [
  ['1h', 3600, 60],
  ['6h', 21_600, 60],
  ['24h', 86_400, 300],
  ['7d', 604_800, 3600],
  ['30d', 2_592_000, 21_600],
  ['1y', 31_536_000, 86_400],
];

const minute = 60_000;

/** The start of a range, rounded to a whole minute, so that the URL stays the same within a minute. */
const startTime = (seconds: number) =>
  new Date(Math.floor((Date.now() - seconds * 1000) / minute) * minute).toISOString();

const percentiles = (points: Point[], select: (point: Point) => Point['wait']) => [
  { name: 'p50', colour: '--line-1', values: points.map((p) => select(p).p50) },
  { name: 'p95', colour: '--line-2', values: points.map((p) => select(p).p95), dash: [6, 3] },
  { name: 'p99', colour: '--line-3', values: points.map((p) => select(p).p99), dash: [2, 3] },
];

type Props = { points: Point[]; step: number; range: string };

/** The newest point is not over. Its rate is that of the time so far, and in the first minute it has none. */
const LEAST_SECONDS = 60;
const passed = ({ at }: Point, step: number) =>
  Math.min(step, (Date.now() - Date.parse(at)) / 1000);

function Throughput({ points, step, range }: Props) {
  const perSecond = (select: (point: Point) => number) =>
    points.map((point, n) => {
      const seconds = n < points.length - 1 ? step : passed(point, step);
      return seconds < LEAST_SECONDS ? null : select(point) / seconds;
    });
  const ends = ['done', 'failed', 'lost', 'dead'] as const;
  const sum = (name: 'enqueued' | (typeof ends)[number]) =>
    count(points.reduce((all, point) => all + point[name], 0));
  return (
    <div>
      <Chart
        title="Tasks per second"
        explanation="A task is counted as enqueued when it is ready to run: a delayed one when its time has come, and each retry again."
        at={points.map((point) => point.at)}
        show={rate}
        least={0.1}
        lines={[
          { name: 'enqueued', colour: '--line-1', values: perSecond((p) => p.enqueued) },
          { name: 'done', colour: '--line-4', values: perSecond((p) => p.done) },
          { name: 'failed', colour: '--line-2', values: perSecond((p) => p.failed), dash: [6, 3] },
          { name: 'lost', colour: '--line-3', values: perSecond((p) => p.lost), dash: [2, 3] },
          { name: 'dead', colour: '--line-5', values: perSecond((p) => p.dead), dash: [4, 2] },
        ]}
      />
      <p class="hint">
        Last {range}:{' '}
        {(['enqueued', ...ends] as const).map((name) => `${sum(name)}\u00a0${name}`).join(', ')}
      </p>
    </div>
  );
}

function Charts({ points, step, range }: Props) {
  const times = points.map((point) => point.at);
  return (
    <div class="charts">
      <Throughput {...{ points, step, range }} />
      <Chart
        title="Depth"
        at={times}
        show={shortNumber}
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
        at={times}
        show={duration}
        lines={[
          { name: 'age', colour: '--line-1', values: points.map((p) => p.oldest_ready_seconds) },
        ]}
      />
      <Chart
        title="Wait before start"
        at={times}
        show={about}
        lines={percentiles(points, (p) => p.wait)}
      />
      <Chart title="Run" at={times} show={about} lines={percentiles(points, (p) => p.run)} />
    </div>
  );
}

/** The same for all queues: what came and went, and how long tasks waited. */
function Summary({ points, step, range }: Props) {
  const latency = (name: string, select: (point: Point) => Point['wait'], colours: string[]) => [
    { name: `${name} p50`, colour: colours[0] ?? '', values: points.map((p) => select(p).p50) },
    {
      name: `${name} p95`,
      colour: colours[1] ?? '',
      values: points.map((p) => select(p).p95),
      dash: [6, 3],
    },
  ];
  return (
    <div class="charts">
      <Throughput {...{ points, step, range }} />
      <Chart
        title="Wait before start, and run"
        at={points.map((point) => point.at)}
        show={about}
        lines={[
          ...latency('wait', (p) => p.wait, ['--line-1', '--line-3']),
          ...latency('run', (p) => p.run, ['--line-4', '--line-2']),
        ]}
      />
    </div>
  );
}

/** Recent activity of a queue, or of all queues. */
export function Activity({ queue, address }: { queue?: string; address: Address }) {
  const wantedRange = address.query.get('range');
  const [range, seconds, step] = ranges.find(([name]) => name === wantedRange) ??
    ranges[0] ?? ['1h', 3600, 60];
  // While the updates are paused the range stays, since a new one would be another call.
  const start = useRef<{ seconds: number; from: string }>(undefined);
  if (start.current?.seconds !== seconds || !isPaused())
    start.current = { seconds, from: startTime(seconds) };
  const query = { from: start.current.from, step_seconds: step };
  const ofQueue = usePolling(
    'GET /v1/queues/{queue}/series',
    queue === undefined ? null : { path: { queue }, query },
    10_000,
  );
  const ofAll = usePolling('GET /v1/series', queue === undefined ? { query } : null, 10_000);
  const newest = queue === undefined ? ofAll : ofQueue;
  // The call changes each minute; until its answer the last one stays.
  const name = `${queue}/${range}`;
  const last = useRef<{ name: string; data: typeof newest.data }>(undefined);
  if (newest.data) last.current = { name, data: newest.data };
  const polled = { ...newest, data: last.current?.name === name ? last.current.data : undefined };
  const Shown = queue === undefined ? Summary : Charts;
  const path = queue === undefined ? [] : ['queues', queue];
  return (
    <section class={`panel activity ${queue === undefined ? 'summary' : ''}`}>
      <header>
        <h2>Activity</h2>
        <nav class="ranges" aria-label="Time">
          {ranges.map(([name]) => (
            <a
              key={name}
              href={href(path, { ...Object.fromEntries(address.query), range: name })}
              aria-current={name === range ? 'true' : undefined}
            >
              {name}
            </a>
          ))}
        </nav>
        <Updated at={polled.at} />
      </header>
      <PolledContent polled={polled}>
        {({ points, step_seconds }) =>
          points.length > 1 ? (
            <Shown points={points} step={step_seconds} range={range} />
          ) : (
            <p class="none">There are no metrics yet: they are collected once a minute.</p>
          )
        }
      </PolledContent>
    </section>
  );
}
