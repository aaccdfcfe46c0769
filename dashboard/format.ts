const wholeFormat = new Intl.NumberFormat('en-GB', { maximumFractionDigits: 0 });

/** 12,345 */
export const count = (n: number | null | undefined) => (n == null ? '–' : wholeFormat.format(n));

/** 1 task, 2 tasks. */
export const plural = (
  n: number | null | undefined,
  singular: string,
  pluralForm = `${singular}s`,
) => `${count(n)} ${n === 1 ? singular : pluralForm}`;

/** A short form for tiles: 1.2 M, 12.3 k, 950 */
export function shortNumber(n: number): string {
  for (const [size, name] of [
    [1e9, 'G'],
    [1e6, 'M'],
    [1e4, 'k'],
  ] as const) {
    const unit = size === 1e4 ? 1e3 : size;
    if (Math.abs(n) >= size) return `${(n / unit).toFixed(1)}\u00a0${name}`;
  }
  return wholeFormat.format(n);
}

/** A rate per second: 0, 0.02, 3.4, 1,250 */
export function rate(n: number | null | undefined): string {
  if (n == null) return '–';
  if (n === 0) return '0';
  if (n < 0.01) return '<0.01';
  return n < 1 ? n.toFixed(2) : n < 100 ? n.toFixed(1) : wholeFormat.format(n);
}

const steps = [
  [86_400, 'd', 3600, 'h'],
  [3600, 'h', 60, 'min'],
  [60, 'min', 1, 's'],
] as const;

/** 4 ms, 2.5 s, 3 min 20 s, 5 h 2 min, 3 d 4 h, on one line. */
export function duration(seconds: number | null | undefined): string {
  if (seconds == null) return '–';
  const s = Math.abs(seconds);
  if (s < 0.0005) return '0\u00a0ms';
  if (s < 0.9995) return `${Math.max(1, Math.round(s * 1000))}\u00a0ms`;
  if (s < 10) return `${Math.round(s * 10) / 10}\u00a0s`;
  if (Math.round(s) < 60) return `${Math.round(s)}\u00a0s`;
  for (const [size, name, part, partName] of steps) {
    if (s < size) continue;
    const parts = Math.floor((s % size) / part);
    return `${Math.floor(s / size)}\u00a0${name}${parts ? `\u00a0${parts}\u00a0${partName}` : ''}`;
  }
  return `${Math.round(s)}\u00a0s`;
}

const units = [
  [86_400, 'd'],
  [3600, 'h'],
  [60, 'min'],
  [1, 's'],
] as const;

/** A percentile, which is off by up to a quarter, so with two digits: ≈ 24 min, ≈ 1.2 h */
export function about(seconds: number | null | undefined): string {
  if (seconds == null) return '–';
  const [size, name] = units.find(([least]) => seconds >= least) ?? [0.001, 'ms'];
  return `≈\u00a0${Number((seconds / size).toPrecision(2))}\u00a0${name}`;
}

/** What a percentile is, for people who see one. */
export const percentileText =
  'Times are counted in steps, each at most 1.6 times the one before. So p50, p95 and p99 are off by up to a quarter.';

/** 12 s ago, in 3 min, 5 h 2 min ago */
export function relative(instant: string, now: number): string {
  const seconds = (now - Date.parse(instant)) / 1000;
  if (Math.abs(seconds) < 1) return 'now';
  // From a minute on without seconds, because a list that changes each second is hard to read and slow.
  const shown = Math.max(1, Math.round(Math.abs(seconds)));
  const text = duration(shown < 60 ? shown : shown - (shown % 60));
  return seconds > 0 ? `${text} ago` : `in ${text}`;
}

/** 21 Nov 2026, 14:03:22, in the browser's time zone. */
export const exactTime = (instant: string) =>
  new Date(instant).toLocaleString('en-GB', { dateStyle: 'medium', timeStyle: 'medium' });

export function bytes(n: number | null | undefined): string {
  if (n == null) return '–';
  for (const [size, name] of [
    [2 ** 40, 'TiB'],
    [2 ** 30, 'GiB'],
    [2 ** 20, 'MiB'],
    [2 ** 10, 'KiB'],
  ] as const) {
    if (n >= size) return `${(n / size).toFixed(1)}\u00a0${name}`;
  }
  return `${n}\u00a0B`;
}

/** JSON over several lines; numbers keep all their digits. */
export const pretty = (value: unknown) => JSON.stringify(value, null, 2) ?? 'null';

/** An error in one line. */
export function errorLine(error: unknown): string | null {
  if (error == null) return null;
  if (typeof error === 'string') return error;
  const { name, message } = error as { name?: unknown; message?: unknown };
  if (typeof message === 'string')
    return name && name !== 'Error' ? `${name}: ${message}` : message;
  return JSON.stringify(error);
}
