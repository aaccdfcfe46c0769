import { setTimeout as pause } from 'node:timers/promises';
import type { Command } from 'commander';
import type { Answer } from '../../client/wire.ts';
import { Failure } from '../../migrate/failure.ts';
import { type Api, withDatabaseFirst } from '../api.ts';
import { whole } from '../given.ts';
import { type Options, optionsOf, print } from '../output.ts';
import { visible } from '../plain.ts';
import { span, table } from '../table.ts';

type QueueStats = Answer<'GET /v1/queues'>['queues'][number];
type Duty = Answer<'GET /v1/duties'>['duties'][number];
type Epochs = { current: number; ahead: number };

/** A key that is for some queues only sees no duties and epochs. */
type Status = { queues: QueueStats[]; duties: Duty[] | null; epochs: Epochs | null };

function describeQueues(queues: QueueStats[]): string {
  const rows = queues.map((q) => {
    const since = q.oldest_ready_at && (Date.now() - Date.parse(q.oldest_ready_at)) / 1000;
    const oldest = since ? span(Math.max(0, since)) : null;
    return [q.name, q.ready, q.running, q.waiting, q.dead, oldest, q.paused ? 'paused' : ''];
  });
  const heading = ['queue', 'ready', 'running', 'waiting', 'dead', 'oldest ready', ''];
  return rows.length > 0 ? table([heading, ...rows]) : 'No queues yet: tock enqueue makes one.\n';
}

function describeDuties(duties: Duty[]): string {
  const rows = duties.map((duty) => {
    const { last_ok_at: at } = duty;
    const ago = at ? `${span((Date.now() - Date.parse(at)) / 1000)} ago` : 'never';
    const late = duty.late_seconds ? span(duty.late_seconds) : 'no';
    return [duty.name, span(duty.every_seconds), ago, late, duty.last_amount, duty.last_error];
  });
  return table([['duty', 'every', 'last done', 'late', 'amount', 'error'], ...rows]);
}

function describe({ queues, duties, epochs }: Status): string {
  if (!duties || !epochs) {
    return `${describeQueues(queues)}\nDuties and epochs are for keys of all queues.\n`;
  }
  const { current, ahead } = epochs;
  return `${describeQueues(queues)}\n${describeDuties(duties)}\nEpoch ${current}, ${ahead} ahead.\n`;
}

async function seen(api: Api): Promise<Status> {
  const { queues } = await api.call('GET /v1/queues');
  const inside = await api.call('GET /v1/duties').catch((error) => {
    if (error instanceof Failure && error.exitCode === 1) return null;
    throw error;
  });
  if (!inside) return { queues, duties: null, epochs: null };
  const current = Math.max(
    ...inside.epochs.flatMap(({ number, state }) => (state === 'ahead' ? [] : [number])),
  );
  const ahead = inside.epochs.filter(({ state }) => state === 'ahead').length;
  return { queues, duties: inside.duties, epochs: { current, ahead } };
}

async function status(options: Options) {
  const all = await withDatabaseFirst(options, seen);
  print(options, all, () => describe(all));
}

const CLEAR = '\x1b[H\x1b[J';

/** How many more or fewer are ready than a look before. */
function drift(now: QueueStats[], before: QueueStats[] | null, seconds: number): string {
  if (!before) return '';
  const sum = (queues: QueueStats[]) => queues.reduce((all, { ready }) => all + ready, 0);
  const change = (sum(now) - sum(before)) / seconds;
  return `, ${change > 0 ? '+' : ''}${change.toFixed(1)} ready a second`;
}

/** Again and again, in place on a terminal; a look that fails is said, and the next one comes. */
async function watch(seconds: number, options: Options) {
  let before: QueueStats[] | null = null;
  const stop = new AbortController();
  process.once('SIGINT', () => stop.abort());
  while (!stop.signal.aborted) {
    try {
      const all = await withDatabaseFirst(options, seen);
      const head = `${new Date().toISOString().slice(0, 19)}Z, every ${seconds} s${drift(all.queues, before, seconds)}\n\n`;
      if (process.stdout.isTTY && !options.json) process.stdout.write(CLEAR);
      print(options, { at: new Date().toISOString(), ...all }, () => head + describe(all));
      before = all.queues;
    } catch (error) {
      if (!(error instanceof Failure) || error.exitCode !== 4) throw error;
      process.stderr.write(visible(`${error.message}\n`));
    }
    await pause(seconds * 1000, undefined, { signal: stop.signal }).catch(() => {});
  }
}

export function addStatus(program: Command): void {
  program
    .command('status')
    .description('queues and their depths, duties and how late they are, epochs ahead')
    .option(
      '--watch [seconds]',
      'again and again, every 2 seconds unless it is said, until Ctrl-C',
      whole(1, 3600),
    )
    .action((_given, command: Command) => {
      const options: Options<{ watch?: number | true }> = optionsOf(command);
      const { watch: every } = options;
      return every === undefined ? status(options) : watch(every === true ? 2 : every, options);
    });
}
