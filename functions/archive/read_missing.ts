import type { AsyncBuffer } from 'hyparquet';
import { refusal } from '../http/problem.ts';
import { columns, indexOf, type RunTexts } from './columns.ts';
import { missingFileHint } from './find.ts';
import { findRows } from './parquet.ts';
import type { Store } from './store.ts';

/** The run that the database needs next, and the archive's files that may have it, oldest first. */
type Missing = {
  id: string;
  task_id: string;
  files: { segment: number; path: string; bytes: number }[];
};

/** Repeats the statement with the runs read so far (as JSON) and the ids that were not found. */
export type RepeatStatement = (rows: string, notFound: string[]) => Promise<string | null>;

/** Maximum number of files that may hold a run; the database returns one more if there are too many. */
const MAX_FILES = 100;

/** Maximum number of rounds. A task that failed daily for three months needs fewer. */
const MAX_ROUNDS = 100;

const toObject = (row: RunTexts) =>
  Object.fromEntries(columns.map(([name], place) => [name, row[place] ?? null]));

function remoteFile(store: Store, path: string, byteLength: number): AsyncBuffer {
  return {
    byteLength,
    async slice(start, end = byteLength) {
      const bytes = await store.range(path, start, end);
      if (bytes?.byteLength === end - start) return bytes;
      throw refusal(503, `The archive's store does not have all of ${path}.`, {
        hint: missingFileHint,
      });
    },
  };
}

const isRun = (id: string) => (BigInt(id) & 0xfffffn) !== 0n;

/** The run, or the runs that the waiting entry became, with the task's later runs in the same file. */
async function findInFile(file: AsyncBuffer, { id, task_id }: Missing): Promise<RunTexts[]> {
  if (!isRun(id)) {
    const rows = await findRows(file, 'task_id', BigInt(task_id));
    return rows.filter((row) => BigInt(row[indexOf('id')] ?? 0) > BigInt(id));
  }
  const [run] = await findRows(file, 'id', BigInt(id));
  if (!run) return [];
  if (run[indexOf('next_id')] === null) return [run];
  return findRows(file, 'task_id', BigInt(run[indexOf('task_id')] ?? 0));
}

/** Reads all files of the first segment that has the run, because a task's runs may be in different files. */
async function find(store: Store, missing: Missing): Promise<RunTexts[]> {
  if (missing.files.length > MAX_FILES) {
    throw refusal(503, `More than ${MAX_FILES} files of the archive may have this task.`);
  }
  let rows: RunTexts[] = [];
  let segment: number | null = null;
  for (const file of missing.files) {
    if (rows.length > 0 && file.segment !== segment) break;
    segment = file.segment;
    rows = rows.concat(await findInFile(remoteFile(store, file.path, file.bytes), missing));
  }
  return rows;
}

/** True if the database needs archived runs before it can answer. */
export const isMissing = (body: string | null) => body?.startsWith('{"missing"') ?? false;

/** Reads the missing runs from the archive and repeats the statement, until it returns an answer. */
export async function readMissing(
  first: string | null,
  store: Store,
  repeat: RepeatStatement,
): Promise<string | null> {
  const rows = new Map<string, object>();
  const notFound: string[] = [];
  let body = first;
  for (let round = 0; body !== null && isMissing(body); round++) {
    if (round === MAX_ROUNDS) throw refusal(503, 'The task has too many runs in the archive.');
    const { missing } = JSON.parse(body) as { missing: Missing };
    const archivedRows = await find(store, missing);
    const added = archivedRows.filter((row) => !rows.has(row[indexOf('id')] ?? ''));
    if (added.length === 0 || !isRun(missing.id)) notFound.push(missing.id);
    for (const row of added) rows.set(row[indexOf('id')] ?? '', toObject(row));
    body = await repeat(JSON.stringify([...rows.values()]), notFound);
  }
  return body;
}
