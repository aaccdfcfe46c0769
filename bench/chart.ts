import { peersOf, type Report } from './report.ts';

// These packages are in bench/node_modules, where the project's own tsc does not find them.
const libraries = ['vega', 'vega-lite'];

const main =
  /^(enqueue|claim \+ complete|whole life|mixed (enqueued|consumed)) \d+$|^WAL (1|100)$|^CPU (1|100)$|^held .*: last/;

const colours = ['#1b6ca8', '#e07a3f', '#d9a441', '#8a9a5b', '#8f6f9f', '#777777', '#b05a6a'];

type Row = { case: string; system: string; value: number; label: string };

function rowsOf(report: Report): Row[] {
  return report.cases
    .filter(({ name }) => main.test(name))
    .flatMap((benchCase) => {
      const figures: [string, number | null][] = [
        ['tock', benchCase.tock],
        ...Object.entries(benchCase.peers),
      ];
      return figures.flatMap(([system, value]): Row[] => {
        if (value === null) return [];
        const label = value.toLocaleString('en', {
          maximumSignificantDigits: 3,
          notation: 'compact',
        });
        return [{ case: `${benchCase.name}, ${benchCase.unit}`, system, value, label }];
      });
    });
}

function specification(report: Report) {
  const values = rowsOf(report);
  const systems = ['tock', ...peersOf(report)];
  const cases = [...new Set(values.map((row) => row.case))];
  const { machine, versions, date } = report;
  return {
    $schema: 'https://vega.github.io/schema/vega-lite/v6.json',
    title: {
      text: 'Tock beside its peers',
      subtitle: `${date.slice(0, 10)}, ${machine.cpu}, ${machine.cores} cores, PostgreSQL ${versions.postgres}`,
      anchor: 'start',
      offset: 14,
    },
    data: { values },
    facet: {
      field: 'case',
      type: 'nominal',
      sort: cases,
      title: null,
      header: { labelFontSize: 12 },
    },
    columns: 3,
    align: 'all',
    spec: {
      width: 220,
      height: { step: 18 },
      encoding: {
        y: { field: 'system', type: 'nominal', sort: systems, title: null },
        x: {
          field: 'value',
          type: 'quantitative',
          title: null,
          axis: { tickCount: 3, format: '~s' },
        },
      },
      layer: [
        {
          mark: 'bar',
          encoding: {
            color: {
              field: 'system',
              type: 'nominal',
              legend: null,
              scale: { domain: systems, range: colours },
            },
          },
        },
        {
          mark: { type: 'text', align: 'left', dx: 3, fontSize: 10 },
          encoding: { text: { field: 'label' } },
        },
      ],
    },
    resolve: { scale: { x: 'independent' } },
    config: { view: { stroke: null }, font: 'sans-serif' },
  };
}

/** The main cases as SVG, one small chart each. Null if the report has none of them. */
export async function chart(report: Report): Promise<string | null> {
  if (rowsOf(report).length === 0) return null;
  const [vega, vegaLite] = await Promise.all(libraries.map((name) => import(name)));
  const { spec } = vegaLite.compile(specification(report));
  return new vega.View(vega.parse(spec), { renderer: 'none' }).toSVG();
}
