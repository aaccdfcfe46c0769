import { setTimeout as pause } from 'node:timers/promises';
import type { Command } from 'commander';
import { withDatabase } from '../../migrate/connect.ts';
import { ask } from '../doors/ask.ts';
import { type Door, type QueueStats, throughDoor } from '../doors/door.ts';
import { sqlDoor } from '../doors/sql.ts';
import { Failure } from '../failure.ts';
import { whole } from '../given.ts';
import { type Options, optionsOf, print } from '../output.ts';
import { visible } from '../plain.ts';
import { beneath } from '../settings.ts';
import { span, table } from '../table.ts';

type Duty = {
  name: string;
  every_seconds: number;
  last_ok_seconds: number | null;
  late_seconds: number;
  last_amount: number | null;
  last_error: string | null;
};

/** HTTP doesn't say how many positions are left. */
type Epochs = { current: number; ahead: number; positions_left: number | null };

type Status = { queues: QueueStats[]; duties: Duty[] | null; epochs: Epochs | null };

// Before pg_cron 1.5 a job runs once a minute, whatever it is due: that is not late.
const dutiesQuestion = `
  select name, every_seconds, last_amount, last_error,
    extract(epoch from clock_timestamp() - last_ok_at)::float8 as last_ok_seconds,
    greatest(0, extract(epoch from clock_timestamp() - coalesce(last_ok_at, m.at))
      - greatest(every_seconds, 60) - 5)::float8 as late_seconds
  from tock.duties, (select max(applied_at) as at from tock.migrations) m
  order by name`;

const epochsQuestion = `
  select max(number) filter (where first_position <= p.last_value) as current,
    (count(*) filter (where first_position > p.last_value))::integer as ahead,
    (max(end_position) - max(p.last_value))::float8 as positions_left
  from tock.epochs, tock.positions p`;

async function ofDatabase(url: string): Promise<Status> {
  return withDatabase(url, async (client) => ({
    queues: await sqlDoor(client).stats(),
    duties: await ask<Duty>(client, dutiesQuestion),
    epochs: (await ask<Epochs>(client, epochsQuestion))[0] ?? null,
  }));
}

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
    const ago = duty.last_ok_seconds === null ? 'never' : `${span(duty.last_ok_seconds)} ago`;
    const late = duty.late_seconds > 0 ? span(duty.late_seconds) : 'no';
    return [duty.name, span(duty.every_seconds), ago, late, duty.last_amount, duty.last_error];
  });
  return table([['duty', 'every', 'last done', 'late', 'amount', 'error'], ...rows]);
}

function describe({ queues, duties, epochs }: Status): string {
  if (!duties || !epochs) {
    return `${describeQueues(queues)}\nDuties and epochs are for keys of all queues.\n`;
  }
  const { current, ahead, positions_left: positions } = epochs;
  const left = positions === null ? '' : `, ${positions.toLocaleString('en')} positions left`;
  return `${describeQueues(queues)}\n${describeDuties(duties)}\nEpoch ${current}, ${ahead} ahead${left}.\n`;
}

async function overHttp(door: Door): Promise<Status> {
  const queues = await door.stats();
  const inside = await door.internals().catch((error) => {
    // A key that is for some queues only.
    if (error instanceof Failure && error.exitCode === 1) return null;
    throw error;
  });
  if (!inside) return { queues, duties: null, epochs: null };
  const duties = inside.duties.map(({ last_ok_at, late_seconds, ...duty }) => ({
    ...duty,
    last_ok_seconds: last_ok_at && (Date.now() - Date.parse(last_ok_at)) / 1000,
    late_seconds: late_seconds ?? 0,
  })) as Duty[];
  const current = Math.max(
    ...inside.epochs.flatMap(({ number, state }) => (state === 'ahead' ? [] : [number])),
  );
  const ahead = inside.epochs.filter(({ state }) => state === 'ahead').length;
  return { queues, duties, epochs: { current, ahead, positions_left: null } };
}

async function look(options: Options): Promise<Status> {
  const { database } = beneath(options);
  return database ? ofDatabase(database) : throughDoor(options, overHttp);
}

async function status(options: Options) {
  const all = await look(options);
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
      const all = await look(options);
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
