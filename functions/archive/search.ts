import { refusal } from '../http/problem.ts';
import { type ArchivedTask, type ArchiveQuery, type File, tasksIn } from './find.ts';
import type { Store } from './store.ts';

/** Maximum number of files that one call reads, of about 10,000 runs each. */
export const MAX_FILES = 4;

/** The position of the next page: a file, and how many of its tasks have been returned. */
type Position = [segment: number, part: number, skip: number];

/** The result of archive_search(), with the query. `counts` is false for a key limited to tenants. */
export type Search = ArchiveQuery & {
  files: File[];
  erased: string[] | null;
  counts: boolean;
  skip: number;
  limit: number;
};

const hex = (text: string) =>
  [...text].map((letter) => letter.charCodeAt(0).toString(16).padStart(2, '0')).join('');
const fromHex = (text: string) =>
  (text.match(/../g) ?? []).map((two) => String.fromCharCode(Number.parseInt(two, 16))).join('');

export function parseCursor(cursor: string | undefined): Position | null {
  if (cursor === undefined) return null;
  const [, ...parts] = /^(\d{1,9})\.(\d{1,9})\.(\d{1,9})$/.exec(fromHex(cursor)) ?? [];
  if (parts.length === 3) return parts.map(Number) as Position;
  throw refusal(422, 'cursor: use the cursor of the previous answer', { field: 'cursor' });
}

const toCursor = (...position: Position) => hex(position.join('.'));

/** Reads up to `limit` tasks from the files, and returns the cursor of the next page. */
export async function searchFiles(store: Store, query: Search) {
  const { files, limit } = query;
  const erased = query.erased && new Set(query.erased);
  if (!erased && (query.unique_key ?? query.error) !== null) {
    throw refusal(
      503,
      'Too many tasks wait for erasure: searching by key or error is not possible now.',
      {
        hint: 'Retry when tock archive status, or GET /v1/archive, shows fewer tasks to erase.',
      },
    );
  }
  const isErased = (id: string) => erased?.has(id) ?? true;
  const tasks: ArchivedTask[] = [];
  let readRows = 0;
  const page = (cursor: string | null) => ({
    tasks,
    cursor,
    scanned: query.counts ? readRows : tasks.length,
  });
  for (const [n, file] of files.entries()) {
    const { tasks: all, looked: rowsRead } = await tasksIn(store, file, query, isErased);
    const skip = n === 0 ? query.skip : 0;
    const end = Math.min(all.length, skip + limit - tasks.length);
    tasks.push(...all.slice(skip, end));
    readRows += rowsRead;
    if (end < all.length) return page(toCursor(file.segment, file.part, end));
    const next = files[n + 1];
    if (next && tasks.length >= limit) return page(toCursor(next.segment, next.part, 0));
  }
  const last = files.at(-1);
  // The next page starts at the part before the last one read. Part -1 means that only earlier segments are left.
  const hasMore = last && files.length === MAX_FILES;
  return page(hasMore ? toCursor(last.segment, last.part - 1, 0) : null);
}
