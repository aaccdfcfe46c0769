import type { Case, System } from './types.ts';

/** The result of a run, as --json writes it. The table and the chart need only this. */
export type Report = {
  date: string;
  command: string;
  machine: Record<string, string | number>;
  versions: Record<string, string>;
  settings: {
    postgres: Record<string, string>;
    /** Seconds of a window and of its warm-up, windows per figure, connections. */
    windows: { seconds: number; warm_up: number; rounds: number; clients: number };
    systems: Record<string, Pick<System, 'version' | 'settings' | 'lacks'>>;
  };
  cases: Case[];
  /** The duration of each group. */
  seconds: Record<string, number>;
  /** Groups that a quick run leaves out. */
  left_out: string[];
  /** Error messages. The figures that failed are null. */
  failures: string[];
};

/** A figure with its significant digits. */
export function shown(value: number | null | undefined): string {
  if (value === null || value === undefined) return '-';
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return value.toLocaleString('en', {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  });
}

function lines(rows: string[][]): string[] {
  const widths = (rows[0] ?? []).map((_, n) => Math.max(...rows.map((row) => row[n]?.length ?? 0)));
  return rows.map((row) =>
    row
      .map((cell, n) => (n < 2 ? cell.padEnd(widths[n] ?? 0) : cell.padStart(widths[n] ?? 0)))
      .join('  ')
      .trimEnd(),
  );
}

/** Names of peers in the order of the cases. */
export const peersOf = ({ cases }: Report): string[] => [
  ...new Set(cases.flatMap((benchCase) => Object.keys(benchCase.peers))),
];

export const entries = (of: Record<string, string | number>) =>
  Object.entries(of)
    .map(([name, value]) => `${name} ${value}`)
    .join(', ');

export const windowsOf = ({ settings: { windows } }: Report) =>
  `${windows.rounds} of ${windows.seconds} s for each figure after ${windows.warm_up} s of warming up, in turns, the median, where a group has no other; ${windows.clients} connections`;

/** The figures in columns, then the notes, then how each system was measured. */
export function table(report: Report): string {
  const peers = peersOf(report).filter((name) =>
    report.cases.some((benchCase) => (benchCase.peers[name] ?? null) !== null),
  );
  const rows = [
    ['case', 'unit', 'tock', ...peers, 'floor'],
    ...report.cases.map((benchCase) => [
      benchCase.name,
      benchCase.unit,
      shown(benchCase.tock),
      ...peers.map((name) => shown(benchCase.peers[name])),
      shown(benchCase.floor),
    ]),
  ];
  const notes = report.cases
    .filter(({ note }) => note)
    .map(({ name, note }) => `  ${name}: ${note}`);
  const { postgres, systems } = report.settings;
  const about = Object.entries(systems).flatMap(([name, { version, settings, lacks }]) => [
    `${name} (${version})`,
    ...settings.map((text) => `  ${text}`),
    ...(lacks.length > 0 ? [`  lacks beside Tock: ${lacks.join('; ')}`] : []),
  ]);
  return [
    ...lines(rows),
    '',
    ...(notes.length > 0 ? ['Notes', ...notes, ''] : []),
    ...about,
    '',
    `Machine: ${entries(report.machine)}`,
    `Versions: ${entries(report.versions)}`,
    `PostgreSQL: ${entries(postgres)}`,
    `Windows: ${windowsOf(report)}`,
    `Seconds: ${entries(report.seconds)}`,
    ...(report.left_out.length > 0 ? [`Left out: ${report.left_out.join(', ')}`] : []),
    ...(report.failures.length > 0
      ? ['', 'FAILED', ...report.failures.map((text) => `  ${text}`)]
      : []),
  ].join('\n');
}
