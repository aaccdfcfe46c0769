import type { Command } from 'commander';
import { withDatabase } from '../connect.ts';
import { ask } from '../doors/ask.ts';
import { type QueueStats, throughDoor } from '../doors/door.ts';
import { sqlDoor } from '../doors/sql.ts';
import { type Options, optionsOf, print } from '../output.ts';
import { way } from '../settings.ts';
import { span, table } from '../table.ts';

type Duty = {
  name: string;
  every_seconds: number;
  last_ok_seconds: number | null;
  late_seconds: number;
  last_amount: number | null;
  last_error: string | null;
};

type Epochs = { current: number; ahead: number; positions_left: number };

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
    return `${describeQueues(queues)}\nDuties and epochs need --database-url, or DATABASE_URL.\n`;
  }
  const left = epochs.positions_left.toLocaleString('en');
  const ahead = `Epoch ${epochs.current}, ${epochs.ahead} ahead, ${left} positions left.`;
  return `${describeQueues(queues)}\n${describeDuties(duties)}\n${ahead}\n`;
}

async function status(options: Options) {
  const found = way(options);
  const database = found.kind === 'sql' ? found.url : found.database;
  const all: Status = database
    ? await ofDatabase(database)
    : { queues: await throughDoor(options, (d) => d.stats()), duties: null, epochs: null };
  print(options, all, () => describe(all));
}

export function addStatus(program: Command): void {
  program
    .command('status')
    .description('queues and their depths, duties and how late they are, epochs ahead')
    .action((_given, command: Command) => status(optionsOf(command)));
}
