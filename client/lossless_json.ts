type RawJson = { rawJSON?: (source: string) => unknown };
type Reviver = (key: string, value: unknown, context?: { source?: string }) => unknown;

const { rawJSON } = JSON as RawJson;

/** Parses JSON and keeps numbers as written; more digits than a double holds need Node 21 or newer. */
export function parseLossless(json: string): unknown {
  const reviver: Reviver = (_key, value, { source } = {}) =>
    typeof value === 'number' &&
    rawJSON &&
    source !== undefined &&
    source !== String(value) &&
    // PostgreSQL writes 7e-05 where JavaScript writes 0.00007.
    source.replace('e-0', 'e-') !== value.toExponential()
      ? rawJSON(source)
      : value;
  return JSON.parse(json, reviver as (key: string, value: unknown) => unknown);
}
