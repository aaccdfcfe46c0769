type Exact = { rawJSON?: (source: string) => unknown };
type Reviver = (key: string, value: unknown, context?: { source?: string }) => unknown;

const { rawJSON } = JSON as Exact;

/** Parses JSON whose numbers are printed as they came: more digits than a double holds need Node 21 or newer. */
export function exactly(json: string): unknown {
  const keep: Reviver = (_key, value, { source } = {}) =>
    typeof value === 'number' && rawJSON && source !== undefined && source !== String(value)
      ? rawJSON(source)
      : value;
  return JSON.parse(json, keep as (key: string, value: unknown) => unknown);
}
