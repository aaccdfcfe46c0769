import { setTimeout as pause } from 'node:timers/promises';
import type { Command } from 'commander';
import type { Answer } from '../../client/wire.ts';
import { Failure } from '../../migrate/failure.ts';
import { type Api, withApi } from '../api.ts';
import { whole } from '../given.ts';
import { type Options, optionsOf } from '../output.ts';
import { lockWaiting, visible } from '../plain.ts';
import { moment } from '../table.ts';

type Found = Answer<'GET /v1/tasks'>['tasks'][number];
type Filter = { queue?: string; state?: string; tenant?: string };
type Given = { state?: string; tenant?: string; lines: number; every: number };

/** Of a look: what is older than these is not looked at again. */
const mostInALook = 1000;
const mostKnown = 20_000;
const LONGEST_PAUSE_MS = 30_000;

/** What was last said of each task, the oldest first; so many are remembered. */
class Known {
  readonly #said = new Map<string, string>();

  isNew({ id, state, attempt }: Found): boolean {
    const now = `${state} ${attempt}`;
    if (this.#said.get(id) === now) return false;
    this.#said.delete(id);
    this.#said.set(id, now);
    const [oldest] = this.#said.keys();
    if (this.#said.size > mostKnown && oldest) this.#said.delete(oldest);
    return true;
  }
}

function line(task: Found, json: boolean | undefined): string {
  if (json) return `${visible(JSON.stringify(task))}\n`;
  const { id, queue, state, attempt, worker, error, ...at } = task;
  const words = [moment(at.ended_at ?? at.run_at ?? at.created_at), queue, id, state];
  if (attempt > 1) words.push(`attempt ${attempt}`);
  if (worker) words.push(worker);
  if (error) words.push(error);
  return `${lockWaiting(words.join('  '))}\n`;
}

/** The newest tasks, oldest first, that haven't been said as they are now. */
async function look(api: Api, filter: Filter, known: Known, most: number): Promise<Found[]> {
  const { tasks } = await api.call('GET /v1/tasks', { query: { ...filter, limit: most } });
  return tasks.filter((task) => known.isNew(task)).reverse();
}

async function tail(queue: string | undefined, options: Options<Given>) {
  const { state, tenant, lines, every, json } = options;
  const filter = { queue, state, tenant };
  const known = new Known();
  const stop = new AbortController();
  process.once('SIGINT', () => stop.abort());
  let failures = 0;
  let first = true;
  while (!stop.signal.aborted) {
    try {
      const found = await withApi(options, (api) =>
        look(api, filter, known, first ? Math.max(1, lines) : mostInALook),
      );
      for (const task of first && lines === 0 ? [] : found) process.stdout.write(line(task, json));
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
    .description('tasks as they come and as they change, a line each, until Ctrl-C')
    .option(
      '--state <state>',
      'only when they are waiting, ready, running, done, dead or cancelled',
    )
    .option('--tenant <tenant>', 'whose tasks')
    .option('--lines <count>', 'begin with so many that were there', whole(0, 1000), 10)
    .option(
      '--every <seconds>',
      'look so often; up to 1,000 new tasks a look are seen',
      whole(1, 60),
      1,
    )
    .action((queue: string | undefined, _given, command: Command) =>
      tail(queue, optionsOf(command)),
    );
}
