/** What engines since 2024 have, and Node 20 lacks. */
type WithRawJson = { rawJSON?(text: string): unknown };
type WithSource = (key: string, value: unknown, context: { source?: string }) => unknown;

/**
 * Parses JSON for JSON.stringify(): a number that a double would round, such as an id of 19 digits, keeps its text. In
 * Node 20 it is rounded.
 */
export function parseExactly(text: string): unknown {
  const { rawJSON } = JSON as WithRawJson;
  if (!rawJSON || !/\d{16}/.test(text)) return JSON.parse(text);
  const keepText: WithSource = (_key, value, { source = '' }) =>
    typeof value === 'number' && source.length > 15 && String(value) !== source
      ? rawJSON(source)
      : value;
  return JSON.parse(text, keepText as (key: string, value: unknown) => unknown);
}
