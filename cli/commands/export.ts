import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { stat, truncate, unlink } from 'node:fs/promises';
import type { Writable } from 'node:stream';
import type { Command } from 'commander';
import type { Answer } from '../../client/wire.ts';
import { Failure } from '../../migrate/failure.ts';
import { type Api, mustHave, withApi } from '../api.ts';
import { type Options, optionsOf, print } from '../output.ts';
import { visible } from '../plain.ts';
import { type Bar, withBar } from '../progress.ts';
import { some } from '../table.ts';

type Given = {
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
type Found = Page['tasks'][number];

const inAPage = 1000;
/** Tasks that are asked for one by one at a time. */
const atOnce = 8;
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

/** RFC 4180; a cell that a spreadsheet would take for a formula begins with an apostrophe, and no terminal obeys one. */
function cell(value: unknown): string {
  if (value === null || value === undefined) return '';
  const text = visible(typeof value === 'object' ? JSON.stringify(value) : String(value));
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

const csv = (task: Found) => `${columns.map((name) => cell(task[name])).join()}\r\n`;
const json = (task: object) => `${visible(JSON.stringify(task))}\n`;

/** All that is known of each, in their order; those that are gone meanwhile are left out. */
async function whole(api: Api, tasks: Found[]): Promise<object[]> {
  const all: object[] = [];
  for (let at = 0; at < tasks.length; at += atOnce) {
    const some = tasks.slice(at, at + atOnce);
    const found = await Promise.all(
      some.map(({ id }) => api.find('GET /v1/tasks/{id}', { path: { id } })),
    );
    all.push(...found.filter((task) => task !== null));
  }
  return all;
}

/** No faster than it is read, or lands on the disk. */
const put = (to: Writable, text: string): Promise<void> =>
  new Promise((resolve, reject) => {
    to.write(text, (error) => (error ? reject(error) : resolve()));
  });

/** Where what is written is all of some pages: the rest of the export begins there. */
type Reached = { count: number; bytes: number; cursor: string | null };

async function write(
  queue: string,
  options: Options<Given>,
  to: Writable,
  reached: Reached,
  shown: Bar,
): Promise<void> {
  const { state, tenant, from, to: until, format, payloads } = options;
  const filter = { queue, state, tenant, from, to: until };
  let head = format === 'csv' && reached.cursor === null ? `${columns.join()}\r\n` : '';
  await withApi(options, async (api) => {
    do {
      const query = { ...filter, cursor: reached.cursor, limit: inAPage };
      const page: Page = await api.call('GET /v1/tasks', { query });
      const rows = payloads ? await whole(api, page.tasks) : page.tasks;
      const text = `${head}${rows.map((row) => (format === 'csv' ? csv(row as Found) : json(row))).join('')}`;
      await put(to, text);
      head = '';
      reached.count += rows.length;
      reached.bytes += Buffer.byteLength(text);
      reached.cursor = page.cursor;
      shown.add(page.tasks.length);
    } while (reached.cursor !== null);
    if (reached.count === 0 && options.cursor === undefined) await mustHave(api, queue);
  });
}

/** A file ends with its last whole page then, and one without any goes; what somebody read is theirs to know. */
async function brokenOff(error: unknown, { count, bytes, cursor }: Reached, out?: string) {
  if (out) await (cursor === null ? unlink(out) : truncate(out, bytes)).catch(() => {});
  const { code, message } = error as NodeJS.ErrnoException;
  const own = error instanceof Failure;
  if ((own && cursor === null) || (!own && code === undefined)) return error;
  const what = code === 'EPIPE' ? 'Who reads the export has gone.' : message;
  const next =
    cursor === null
      ? undefined
      : `${some(count, 'task is', 'tasks are')} written. To go on: --cursor ${cursor}`;
  return new Failure(what, next, own ? error.exitCode : 1);
}

async function exported(queue: string, options: Options<Given>) {
  const { out, payloads, format, cursor = null } = options;
  if (payloads && format === 'csv') {
    throw new Failure('--payloads is for --format jsonl.', undefined, 2);
  }
  const to = out ? await opened(out, cursor !== null) : process.stdout;
  // Each write says itself how it went: a part of an export is none.
  to.removeAllListeners('error').on('error', () => {});
  const reached: Reached = { count: 0, bytes: out ? (await stat(out)).size : 0, cursor };
  try {
    await withBar(options, `Tasks of ${queue}`, null, (shown) =>
      write(queue, options, to, reached, shown),
    );
  } catch (error) {
    if (out) to.destroy();
    throw await brokenOff(error, reached, out);
  }
  if (to === process.stdout) return;
  to.end();
  await once(to, 'close');
  const { count } = reached;
  print(options, { tasks: count, out }, () => `${some(count, 'task is', 'tasks are')} in ${out}\n`);
}

async function opened(path: string, further: boolean): Promise<Writable> {
  const to = createWriteStream(path, { flags: further ? 'a' : 'wx', mode: 0o600 });
  try {
    await once(to, 'open');
    return to;
  } catch (error) {
    const next = 'Name a file that is not there yet; to go on with one, give its --cursor too.';
    throw new Failure((error as Error).message, next, 2);
  }
}

export function addExport(program: Command): void {
  program
    .command('export <queue>')
    .description('tasks of a queue as JSON lines or CSV, the newest first')
    .option('--state <state>', 'waiting, ready, running, done, dead, cancelled or expired')
    .option('--tenant <tenant>', 'whose tasks')
    .option('--from <instant>', 'made then or later, like 2030-01-31T09:00:00Z')
    .option('--to <instant>', 'made before that')
    .option('--format <format>', 'jsonl or csv', formatOf, 'jsonl')
    .option('--payloads', 'all that tock task says of each, payload, result and runs among it')
    .option('--out <file>', 'a new file; else stdout')
    .option('--cursor <cursor>', 'go on where an export broke off, at the end of the same file')
    .action((queue: string, _given, command: Command) => exported(queue, optionsOf(command)));
}

function formatOf(given: string): string {
  if (given === 'jsonl' || given === 'csv') return given;
  throw new Failure(`--format ${given}: give jsonl or csv.`, undefined, 2);
}
