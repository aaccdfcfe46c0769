import type { AsyncBuffer } from 'hyparquet';
import { refusal } from '../http/problem.ts';
import { columns, placeOf, type Texts } from './columns.ts';
import { gone } from './find.ts';
import { rowsWith } from './parquet.ts';
import type { Store } from './store.ts';

/** What the database says it needs next from the archive; oldest files first. */
type Missing = {
  id: string;
  task_id: string;
  files: { epoch: number; path: string; bytes: number }[];
};

/** Asks the database again, with the runs that were read (as JSON) and the ids that were looked for in vain. */
export type Ask = (rows: string, looked: string[]) => Promise<string | null>;

/** Files that may have a run, of which the database names one more where there are too many. */
const MOST_FILES = 100;

/** More rounds than a task that failed each day of three months has. */
const MOST_ROUNDS = 100;

const named = (row: Texts) =>
  Object.fromEntries(columns.map(([name], place) => [name, row[place] ?? null]));

function fileOf(store: Store, path: string, byteLength: number): AsyncBuffer {
  return {
    byteLength,
    async slice(start, end = byteLength) {
      const found = await store.range(path, start, end);
      if (found?.byteLength === end - start) return found;
      throw refusal(503, `The archive's store does not have all of ${path}.`, {
        hint: gone,
      });
    },
  };
}

const isRun = (id: string) => (BigInt(id) & 0xfffffn) !== 0n;

/** A run, or what a waiting entry became; with what comes after it in the same file. */
async function findIn(file: AsyncBuffer, { id, task_id }: Missing): Promise<Texts[]> {
  if (!isRun(id)) {
    const rows = await rowsWith(file, 'task_id', BigInt(task_id));
    return rows.filter((row) => BigInt(row[placeOf('id')] ?? 0) > BigInt(id));
  }
  const [run] = await rowsWith(file, 'id', BigInt(id));
  if (!run) return [];
  if (run[placeOf('next_id')] === null) return [run];
  return rowsWith(file, 'task_id', BigInt(run[placeOf('task_id')] ?? 0));
}

/** The first epoch that has it; all of its files, as in one of them the first run may lie, and in another the next. */
async function find(store: Store, missing: Missing): Promise<Texts[]> {
  if (missing.files.length > MOST_FILES) {
    throw refusal(503, `More than ${MOST_FILES} files of the archive may have this task.`);
  }
  let found: Texts[] = [];
  let epoch: number | null = null;
  for (const file of missing.files) {
    if (found.length > 0 && file.epoch !== epoch) break;
    epoch = file.epoch;
    found = found.concat(await findIn(fileOf(store, file.path, file.bytes), missing));
  }
  return found;
}

/** Whether an answer says that runs have to be read first. */
export const isMissing = (body: string | null) => body?.startsWith('{"missing"') ?? false;

/** Reads what a statement's answer says is missing, and asks again, until it is an answer. */
export async function through(
  first: string | null,
  store: Store,
  ask: Ask,
): Promise<string | null> {
  const rows = new Map<string, object>();
  const looked: string[] = [];
  let body = first;
  for (let round = 0; body !== null && isMissing(body); round++) {
    if (round === MOST_ROUNDS) throw refusal(503, 'The task has too many runs in the archive.');
    const { missing } = JSON.parse(body) as { missing: Missing };
    const found = await find(store, missing);
    const fresh = found.filter((row) => !rows.has(row[placeOf('id')] ?? ''));
    if (fresh.length === 0 || !isRun(missing.id)) looked.push(missing.id);
    for (const row of fresh) rows.set(row[placeOf('id')] ?? '', named(row));
    body = await ask(JSON.stringify([...rows.values()]), looked);
  }
  return body;
}
