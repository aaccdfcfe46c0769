import { refusal } from '../http/problem.ts';
import type { Merge, RoutedCall } from './call.ts';
import { merged } from './merges.ts';

/** What a node is asked for; null: nothing. */
export type PartOf = (call: RoutedCall, node: number, nodes: number) => RoutedCall | null;

type Pages = { part: PartOf; merge: Merge };

/** No cursor of a node begins so: it is a position of 43 bits in 48, or JSON in hexadecimal. */
const MARK = 'ff';
const hex = (value: number) => value.toString(16).padStart(4, '0');

/** One cursor of those of several nodes; null if no node has more. */
function joinCursors(cursors: readonly (readonly [node: number, cursor: string | null])[]) {
  const parts = cursors.flatMap(([node, cursor]) =>
    cursor === null ? [] : `${hex(node)}${hex(cursor.length)}${cursor}`,
  );
  return parts.length === 0 ? null : MARK + parts.join('');
}

/** The cursors of nodes in a cursor of joinCursors(). */
function splitCursor(cursor: string): Map<number, string> {
  const cursors = new Map<number, string>();
  const number = (at: number) => Number.parseInt(cursor.slice(at, at + 4), 16);
  for (let at = MARK.length; at < cursor.length; ) {
    const end = at + 8 + number(at + 4);
    if (!cursor.startsWith(MARK) || !(end <= cursor.length))
      throw refusal(422, 'cursor: must be the cursor of the previous answer', { field: 'cursor' });
    cursors.set(number(at), cursor.slice(at + 8, end));
    at = end;
  }
  return cursors;
}

/** The size of a page, as the query string has it. */
const limitOf = ({ query }: RoutedCall, byDefault: number) => Number(query.limit ?? byDefault);

/**
 * Pages of a list with a cursor. Each node gives its share of a page, at least one row, because a cursor of a node is
 * only known for the end of what it gave. `at` is the time of a row by which the lists of nodes are merged.
 */
export function byCursor(
  field: string,
  byDefault: number,
  // biome-ignore lint/suspicious/noExplicitAny: rows of the route
  isBefore: (a: any, b: any) => boolean,
): Pages {
  return {
    part(call, node, nodes) {
      const cursor = call.query.cursor === undefined ? null : splitCursor(call.query.cursor);
      if (cursor && !cursor.has(node)) return null;
      const limit = String(Math.max(1, Math.floor(limitOf(call, byDefault) / nodes)));
      return { ...call, query: { ...call.query, limit, cursor: cursor?.get(node) } };
    },
    merge: (parts) => ({
      [field]: merged(
        parts.map(({ body }) => body[field]),
        isBefore,
      ),
      cursor: joinCursors(parts.map(({ node, body }) => [node, body.cursor] as const)),
      scanned: parts.reduce((sum, { body }) => sum + body.scanned, 0),
    }),
  };
}

const NODE_BITS = 53n;

/** The number of a row of one node, made different from those of other nodes. */
export const numberAt = (node: number, number: string) =>
  String((BigInt(node) << NODE_BITS) + BigInt(number));

/** The node of such a number, and the number there. */
export const splitNumber = (number: string) => ({
  node: Number(BigInt(number) >> NODE_BITS),
  number: String(BigInt.asUintN(Number(NODE_BITS), BigInt(number))),
});

/**
 * Pages of a list of numbered rows, newest first, with `before`. The numbers of nodes cannot be compared, so the rows of
 * one node come after those of another.
 */
export function byNumber(field: string, name: string, byDefault = 100): Pages {
  return {
    part(call, node) {
      if (call.query.before === undefined) return call;
      const last = splitNumber(call.query.before);
      if (node > last.node) return null;
      const before = node === last.node ? last.number : undefined;
      return { ...call, query: { ...call.query, before } };
    },
    merge(parts, call) {
      const rows = parts
        .toSorted((a, b) => b.node - a.node)
        .flatMap(({ node, body }) =>
          body[field].map((row: Record<string, string>) => ({
            ...row,
            [name]: numberAt(node, row[name] ?? '0'),
          })),
        );
      return { [field]: rows.slice(0, limitOf(call, byDefault)) };
    },
  };
}

/** Pages of a list by name, with `after`. */
export function byName(field: string, name: string, byDefault = 100): { merge: Merge } {
  return {
    merge: (parts, call) => ({
      [field]: merged(
        parts.map(({ body }) => body[field] as Record<string, string>[]),
        (a, b) => (a[name] ?? '') < (b[name] ?? ''),
      ).slice(0, limitOf(call, byDefault)),
    }),
  };
}
