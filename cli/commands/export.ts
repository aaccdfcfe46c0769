import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { stat, truncate, unlink } from 'node:fs/promises';
import type { Writable } from 'node:stream';
import type { Command } from 'commander';
import type { Answer } from '../../client/wire.ts';
import { Failure } from '../../migrate/failure.ts';
import { type Api, requireQueue, withApi } from '../api.ts';
import { visible } from '../escape_control.ts';
import { type Options, optionsOf, print } from '../output.ts';
import { type Bar, withBar } from '../progress.ts';
import { plural } from '../table.ts';

type Flags = {
  state?: string;
  tenant?: string;
  from?: string;
  to?: string;
  out?: string;
  format: 'jsonl' | 'csv';
  cursor?: string;
  payloads?: boolean;
};

type Page = Answer<'GET /v1/tasks'>;
type ListedTask = Page['tasks'][number];

const PAGE_SIZE = 1000;
/** Number of concurrent requests for single tasks. */
const MAX_REQUESTS = 8;
const columns = [
  'id',
  'queue',
  'state',
  'priority',
  'tenant',
  'attempt',
  'created_at',
  'run_at',
  'ended_at',
  'worker',
  'error',
] as const;

/**
 * A cell as RFC 4180 writes it. A text that a spreadsheet would read as a formula gets a leading apostrophe. Control
 * characters are escaped.
 */
function cell(value: unknown): string {
  if (value === null || value === undefined) return '';
  const text = visible(typeof value === 'object' ? JSON.stringify(value) : String(value));
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

const csv = (task: ListedTask) => `${columns.map((name) => cell(task[name])).join()}\r\n`;
const json = (task: object) => `${visible(JSON.stringify(task))}\n`;

/** Reads all fields of each task, in order, without tasks that no longer exist. */
async function fullTasks(api: Api, tasks: ListedTask[]): Promise<object[]> {
  const all: object[] = [];
  for (let offset = 0; offset < tasks.length; offset += MAX_REQUESTS) {
    const batch = tasks.slice(offset, offset + MAX_REQUESTS);
    const fetched = await Promise.all(
      batch.map(({ id }) => api.find('GET /v1/tasks/{id}', { path: { id } })),
    );
    all.push(...fetched.filter((task) => task !== null));
  }
  return all;
}

/** Resolves when the text is written, so that a slow reader or disk slows down the export. */
const writeText = (output: Writable, text: string): Promise<void> =>
  new Promise((resolve, reject) => {
    output.write(text, (error) => (error ? reject(error) : resolve()));
  });

/** The export so far, which ends with a whole page. A later call can continue at the cursor. */
type Reached = { count: number; bytes: number; cursor: string | null };

async function write(
  queue: string,
  options: Options<Flags>,
  output: Writable,
  reached: Reached,
  progress: Bar,
): Promise<void> {
  const { state, tenant, from, to: before, format, payloads } = options;
  const filter = { queue, state, tenant, from, to: before };
  let head = format === 'csv' && reached.cursor === null ? `${columns.join()}\r\n` : '';
  await withApi(options, async (api) => {
    do {
      const query = { ...filter, cursor: reached.cursor, limit: PAGE_SIZE };
      const page: Page = await api.call('GET /v1/tasks', { query });
      const rows = payloads ? await fullTasks(api, page.tasks) : page.tasks;
      const text = `${head}${rows.map((row) => (format === 'csv' ? csv(row as ListedTask) : json(row))).join('')}`;
      await writeText(output, text);
      head = '';
      reached.count += rows.length;
      reached.bytes += Buffer.byteLength(text);
      reached.cursor = page.cursor;
      progress.add(page.tasks.length);
    } while (reached.cursor !== null);
    if (reached.count === 0 && options.cursor === undefined) await requireQueue(api, queue);
  });
}

/** Truncates a file to its last whole page, and deletes it without one; output to a reader cannot be taken back. */
async function interrupted(error: unknown, { count, bytes, cursor }: Reached, out?: string) {
  if (out) await (cursor === null ? unlink(out) : truncate(out, bytes)).catch(() => {});
  const { code, message } = error as NodeJS.ErrnoException;
  const isFailure = error instanceof Failure;
  if ((isFailure && cursor === null) || (!isFailure && code === undefined)) return error;
  const reason = code === 'EPIPE' ? 'The reader of the export has closed its input.' : message;
  const next =
    cursor === null
      ? undefined
      : `${plural(count, 'task is', 'tasks are')} written. To continue: --cursor ${cursor}`;
  return new Failure(reason, next, isFailure ? error.exitCode : 1);
}

async function exported(queue: string, options: Options<Flags>) {
  const { out, payloads, format, cursor = null } = options;
  if (payloads && format === 'csv') {
    throw new Failure('--payloads needs --format jsonl.', undefined, 2);
  }
  const output = out ? await opened(out, cursor !== null) : process.stdout;
  // writeText() rejects if a write fails, so this listener only keeps the error event from ending the process.
  output.removeAllListeners('error').on('error', () => {});
  const reached: Reached = { count: 0, bytes: out ? (await stat(out)).size : 0, cursor };
  try {
    await withBar(options, `Tasks of ${queue}`, null, (progress) =>
      write(queue, options, output, reached, progress),
    );
  } catch (error) {
    if (out) output.destroy();
    throw await interrupted(error, reached, out);
  }
  if (output === process.stdout) return;
  output.end();
  await once(output, 'close');
  const { count } = reached;
  print(
    options,
    { tasks: count, out },
    () => `${plural(count, 'task is', 'tasks are')} in ${out}\n`,
  );
}

async function opened(path: string, further: boolean): Promise<Writable> {
  const output = createWriteStream(path, { flags: further ? 'a' : 'wx', mode: 0o600 });
  try {
    await once(output, 'open');
    return output;
  } catch (error) {
    const next = 'Give a file that does not exist; to continue an export, give its --cursor too.';
    throw new Failure((error as Error).message, next, 2);
  }
}

export function addExport(program: Command): void {
  program
    .command('export <queue>')
    .description("export a queue's tasks as JSON lines or CSV, newest first")
    .option('--state <state>', 'waiting, ready, running, done, dead, cancelled or expired')
    .option('--tenant <tenant>', 'tasks of this tenant')
    .option('--from <instant>', 'created at or after this time, like 2030-01-31T09:00:00Z')
    .option('--to <instant>', 'created before this time')
    .option('--format <format>', 'jsonl or csv', parseFormat, 'jsonl')
    .option('--payloads', 'all fields of tock task, including payload, result and runs')
    .option('--out <file>', 'a new file; default: stdout')
    .option('--cursor <cursor>', 'continue an interrupted export at the end of the same file')
    .action((queue: string, _options, command: Command) => exported(queue, optionsOf(command)));
}

function parseFormat(format: string): string {
  if (format === 'jsonl' || format === 'csv') return format;
  throw new Failure(`--format is ${format}: give jsonl or csv.`, undefined, 2);
}
