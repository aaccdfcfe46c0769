import { setTimeout as pause } from 'node:timers/promises';
import type { Command } from 'commander';
import type { Answer } from '../../client/wire.ts';
import { Failure } from '../../migrate/failure.ts';
import { type Api, withApi } from '../api.ts';
import { wholeNumber } from '../arguments.ts';
import { visible, visibleLine } from '../escape_control.ts';
import { type Options, optionsOf } from '../output.ts';
import { moment } from '../table.ts';

type ListedTask = Answer<'GET /v1/tasks'>['tasks'][number];
type Filter = { queue?: string; state?: string; tenant?: string };
type Flags = { state?: string; tenant?: string; lines: number; every: number };

/** A poll reads only the newest tasks, up to this many. */
const MAX_TASKS_PER_POLL = 1000;
const MAX_PRINTED = 20_000;
const LONGEST_PAUSE_MS = 30_000;

/** The last printed state of each task, oldest first. It keeps a limited number of tasks. */
class PrintedStates {
  readonly #printed = new Map<string, string>();

  isNew({ id, state, attempt }: ListedTask): boolean {
    const current = `${state} ${attempt}`;
    if (this.#printed.get(id) === current) return false;
    this.#printed.delete(id);
    this.#printed.set(id, current);
    const [oldest] = this.#printed.keys();
    if (this.#printed.size > MAX_PRINTED && oldest) this.#printed.delete(oldest);
    return true;
  }
}

function formatLine(task: ListedTask, json: boolean | undefined): string {
  if (json) return `${visible(JSON.stringify(task))}\n`;
  const { id, queue, state, attempt, worker, error, ...times } = task;
  const words = [moment(times.ended_at ?? times.run_at ?? times.created_at), queue, id, state];
  if (attempt > 1) words.push(`attempt ${attempt}`);
  if (worker) words.push(worker);
  if (error) words.push(error);
  return `${visibleLine(words.join('  '))}\n`;
}

/** The newest tasks, oldest first, whose current state has not been printed. */
async function poll(
  api: Api,
  filter: Filter,
  printed: PrintedStates,
  limit: number,
): Promise<ListedTask[]> {
  const { tasks } = await api.call('GET /v1/tasks', { query: { ...filter, limit } });
  return tasks.filter((task) => printed.isNew(task)).reverse();
}

async function tail(queue: string | undefined, options: Options<Flags>) {
  const { state, tenant, lines, every, json } = options;
  const filter = { queue, state, tenant };
  const printed = new PrintedStates();
  const stop = new AbortController();
  process.once('SIGINT', () => stop.abort());
  let failures = 0;
  let first = true;
  while (!stop.signal.aborted) {
    try {
      const newTasks = await withApi(options, (api) =>
        poll(api, filter, printed, first ? Math.max(1, lines) : MAX_TASKS_PER_POLL),
      );
      for (const task of first && lines === 0 ? [] : newTasks)
        process.stdout.write(formatLine(task, json));
      failures = 0;
      first = false;
    } catch (error) {
      if (!(error instanceof Failure) || error.exitCode !== 4) throw error;
      process.stderr.write(visible(`${error.message}\n`));
      failures++;
    }
    const ms = Math.min(LONGEST_PAUSE_MS, every * 1000 * 2 ** failures);
    await pause(ms, undefined, { signal: stop.signal }).catch(() => {});
  }
}

export function addTail(program: Command): void {
  program
    .command('tail [queue]')
    .description('print tasks as they arrive and change, one line each, until Ctrl-C')
    .option(
      '--state <state>',
      'only tasks that are waiting, ready, running, done, dead or cancelled',
    )
    .option('--tenant <tenant>', 'tasks of this tenant')
    .option('--lines <count>', 'begin with this many existing tasks', wholeNumber(0, 1000), 10)
    .option(
      '--every <seconds>',
      'poll interval; each poll sees up to 1,000 new tasks',
      wholeNumber(1, 60),
      1,
    )
    .action((queue: string | undefined, _options, command: Command) =>
      tail(queue, optionsOf(command)),
    );
}
