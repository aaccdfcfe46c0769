import { useSession } from './session.tsx';

const HIDDEN = '(hidden)';

/** Numbers of many digits are objects of JSON.rawJSON(), which have no prototype. */
export const isLeaf = (value: unknown) =>
  typeof value !== 'object' || value === null || Object.getPrototypeOf(value) === null;

function hide(value: unknown, names: ReadonlySet<string>): unknown {
  if (isLeaf(value)) return value;
  if (Array.isArray(value)) return value.map((item) => hide(item, names));
  const entries = Object.entries(value as object);
  return Object.fromEntries(
    entries.map(([name, item]) => [name, names.has(name) ? HIDDEN : hide(item, names)]),
  );
}

const escaped = (text: string) => JSON.stringify(text).replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');

/** The start of a JSON text. After a hidden list or object the rest is hidden too. */
function hideInText(text: string, names: readonly string[]): string {
  const values = '"(?:[^"\\\\]|\\\\.)*"?|[{[].*|[^,}\\]]*';
  const fields = new RegExp(`(${names.map(escaped).join('|')}): ?(?:${values})`, 'gs');
  return text.replace(fields, (_, name) => `${name}: "${HIDDEN}"`);
}

/** Hides the fields of TOCK_HIDDEN_FIELDS in a JSON value, or in the start of a JSON text. */
export function useHidden(): { value(value: unknown): unknown; text(text: string): string } {
  const { hidden_fields: names } = useSession().keyInfo;
  if (names.length === 0) return { value: (value) => value, text: (text) => text };
  const set = new Set(names);
  return { value: (value) => hide(value, set), text: (text) => hideInText(text, names) };
}
