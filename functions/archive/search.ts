import { refusal } from '../http/problem.ts';
import { type File, type Found, tasksIn, type Wish } from './find.ts';
import type { Store } from './store.ts';

/** Files that one call reads at most: of some 10,000 runs each. */
export const MOST_FILES = 4;

/** Where to go on: a file, and how many of its tasks have been given. */
type Place = [epoch: number, part: number, skip: number];

/** Of archive_search(), with what was asked; who may not hear how much others have `counts` what was given. */
export type Search = Wish & {
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

export function placeOf(cursor: string | undefined): Place | null {
  if (cursor === undefined) return null;
  const [, ...parts] = /^(\d{1,9})\.(\d{1,9})\.(\d{1,9})$/.exec(fromHex(cursor)) ?? [];
  if (parts.length === 3) return parts.map(Number) as Place;
  throw refusal(422, 'cursor: the cursor that the call before gave', { field: 'cursor' });
}

const cursorOf = (...place: Place) => hex(place.join('.'));

/** As many tasks as were asked for out of the files, and where to go on. */
export async function searchFiles(store: Store, asked: Search) {
  const { files, limit } = asked;
  const erased = asked.erased && new Set(asked.erased);
  if (!erased && (asked.unique_key ?? asked.error) !== null) {
    throw refusal(
      503,
      'So many tasks are to be erased that no key or error can be looked for now.',
      {
        hint: 'Ask again when tock archive status, or GET /v1/archive, shows fewer of them.',
      },
    );
  }
  const isErased = (id: string) => erased?.has(id) ?? true;
  const tasks: Found[] = [];
  let seen = 0;
  const page = (cursor: string | null) => ({
    tasks,
    cursor,
    looked_at: asked.counts ? seen : tasks.length,
  });
  for (const [n, file] of files.entries()) {
    const { tasks: all, looked } = await tasksIn(store, file, asked, isErased);
    const skip = n === 0 ? asked.skip : 0;
    const upto = Math.min(all.length, skip + limit - tasks.length);
    tasks.push(...all.slice(skip, upto));
    seen += looked;
    if (upto < all.length) return page(cursorOf(file.epoch, file.part, upto));
    const next = files[n + 1];
    if (next && tasks.length >= limit) return page(cursorOf(next.epoch, next.part, 0));
  }
  const last = files.at(-1);
  // Those before its part; of part 0 none, so of the epochs before.
  const more = last && files.length === MOST_FILES;
  return page(more ? cursorOf(last.epoch, last.part - 1, 0) : null);
}
