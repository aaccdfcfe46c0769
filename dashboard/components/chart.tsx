import { useEffect, useId, useRef, useState } from 'preact/hooks';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { about, duration, percentileText } from '../format.ts';
import { Explained } from './explained.tsx';

export type Line = {
  name: string;
  colour: string;
  values: readonly (number | null)[];
  dash?: number[];
};
type Props = {
  title: string;
  explanation?: string;
  at: readonly string[];
  lines: readonly Line[];
  show(n: number): string;
  /** Minimum value at the top of the axis. */
  least?: number;
  /** Whether the values are whole numbers, such as counts. */
  whole?: boolean;
};

const HEIGHT = 200;

const clock = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' });
const dayName = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' });
const moment = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'short' });

/** Labels of one day are times; over several days the first label of each day is its name. */
function timeLabels(ticks: number[]): string[] {
  const days = ticks.map((n) => dayName.format(n * 1000));
  const several = days[0] !== days.at(-1);
  return ticks.map((n, at) =>
    several && days[at] !== days[at - 1] ? (days[at] ?? '') : clock.format(n * 1000),
  );
}

/** The points whose neighbours are unknown. No line connects them, so each is drawn as a dot. */
const isolatedPoints: uPlot.Series.Points.Filter = (chart, series) => {
  const values = Array.from(chart.data[series] ?? []);
  return values.flatMap((value, n) =>
    value != null && values[n - 1] == null && values[n + 1] == null ? [n] : [],
  );
};

/** The value of a CSS variable in the current theme. */
function cssColour(name: string): string {
  // Only a used colour resolves light-dark().
  const probe = document.createElement('span');
  probe.style.color = `var(${name})`;
  document.body.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}

/** Possible steps of an axis: 1, 2, 5, 10 …, from a power of ten. */
const stepsFrom = (power: number) =>
  Array.from(
    { length: 36 },
    (_, n) => ([1, 2, 5][n % 3] as number) * 10 ** (power + Math.floor(n / 3)),
  );
const wholeSteps = stepsFrom(0);
/** The labels of rates have two decimals. */
const rateSteps = stepsFrom(-2);
const [minute, hour, day] = [60, 3600, 86_400];
/** Steps in seconds that are round in their unit. */
const timeSteps = [
  ...stepsFrom(-3).filter((step) => step <= 10),
  ...[15, 30],
  ...[1, 2, 5, 10, 15, 30].map((n) => n * minute),
  ...[1, 2, 3, 6, 12].map((n) => n * hour),
  ...stepsFrom(0).map((n) => n * day),
];

function chartOptions({ lines, show, whole, least = 0 }: Props, width: number): uPlot.Options {
  const [muted, line] = [cssColour('--muted'), cssColour('--line')];
  const isTime = show === duration || show === about;
  const axis = { stroke: muted, grid: { stroke: line, width: 1 }, ticks: { stroke: line } };
  return {
    width,
    height: HEIGHT,
    title: '',
    legend: {
      live: true,
      markers: { width: 1, dash: (_, n) => (lines[n - 1]?.dash ? 'dashed' : 'solid') },
    },
    hooks: { setCursor: [showNewest], ready: [showNewest] },
    cursor: { drag: { x: false, y: false } },
    scales: { y: { range: (_, _low, high) => [0, Math.max(least, high > 0 ? high * 1.1 : 1)] } },
    axes: [
      { ...axis, values: (_, ticks) => timeLabels(ticks) },
      {
        ...axis,
        incrs: whole ? wholeSteps : isTime ? timeSteps : rateSteps,
        size: (_, names) => 20 + 7 * Math.max(4, ...(names ?? []).map((name) => name.length)),
        values: (_, ticks) => ticks.map((n) => (n < 0 ? '' : (isTime ? duration : show)(n))),
      },
    ],
    series: [
      { label: 'at', value: (_, n) => (n ? moment.format(n * 1000) : '–') },
      ...lines.map(({ name, colour, dash }) => ({
        label: name,
        stroke: cssColour(colour),
        width: 1.5,
        ...(dash && { dash }),
        points: { filter: isolatedPoints, size: 5, fill: cssColour(colour) },
        value: (_: uPlot, n: number | null) => (n == null ? '–' : show(n)),
      })),
    ],
  };
}

/** Without a pointer over the chart the legend has the newest values. */
function showNewest(chart: uPlot | null): void {
  if (!chart || chart.cursor.idx != null) return;
  const [at, ...lines] = chart.data;
  let idx = at.length - 1;
  while (idx > 0 && lines.every((values) => values[idx] == null)) idx--;
  chart.setLegend({ idx });
}

/** A line chart over time, with the same numbers as a table for screen readers. */
export function Chart(props: Props) {
  const { title, at, lines, show } = props;
  const explanation = show === about ? percentileText : props.explanation;
  const [open, setOpen] = useState(false);
  const container = useRef<HTMLDivElement>(null);
  const chart = useRef<uPlot | null>(null);
  const id = useId();
  const names = lines.map(({ name }) => name).join('|');

  const data = [at.map((time) => Date.parse(time) / 1000), ...lines.map(({ values }) => values)];
  // A change of the theme draws the chart again, long after the effect has seen its first data.
  const newest = useRef(data);
  newest.current = data;

  useEffect(() => {
    const div = container.current;
    if (!div) return;
    const createChart = () => {
      chart.current?.destroy();
      const width = Math.max(200, div.clientWidth);
      const drawn = newest.current as uPlot.AlignedData;
      chart.current = new uPlot(chartOptions(props, width), drawn, div);
    };
    createChart();
    const resized = new ResizeObserver(() => {
      const width = Math.max(200, div.clientWidth);
      if (chart.current && width !== chart.current.width)
        chart.current.setSize({ width, height: HEIGHT });
    });
    resized.observe(div);
    const themes = matchMedia('(prefers-color-scheme: dark)');
    themes.addEventListener('change', createChart);
    addEventListener('tock-theme', createChart);
    return () => {
      resized.disconnect();
      themes.removeEventListener('change', createChart);
      removeEventListener('tock-theme', createChart);
      chart.current?.destroy();
      chart.current = null;
    };
  }, [names, title]);

  useEffect(() => {
    chart.current?.setData(data as uPlot.AlignedData);
    showNewest(chart.current);
  });

  return (
    <figure class="chart" aria-labelledby={id}>
      <figcaption>
        <span id={id}>{title}</span>
        {explanation && (
          <Explained text={explanation} label={`What is ${title}?`}>
            ?
          </Explained>
        )}
      </figcaption>
      <div ref={container} aria-hidden="true" />
      <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
        <summary>As a table</summary>
        {open && <Values {...props} />}
      </details>
    </figure>
  );
}

/** The numbers of the chart, for screen readers too, the newest first. */
function Values({ title, at, lines, show }: Props) {
  const rows = at.map((time, n) => [time, n] as const).reverse();
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex lint/a11y/useSemanticElements: keyboard users scroll it by focus
    <div class="values" role="group" aria-label={title} tabIndex={0}>
      <table>
        <thead>
          <tr>
            <th scope="col">time</th>
            {lines.map(({ name }) => (
              <th key={name} scope="col" class="number">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(([time, n]) => (
            <tr key={time}>
              <th scope="row">{moment.format(new Date(time))}</th>
              {lines.map(({ name, values }) => {
                const value = values[n];
                return (
                  <td key={name} class="number">
                    {value == null ? '–' : show(value)}
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
